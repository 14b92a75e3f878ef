// SPDX-License-Identifier: Apache-2.0
#include "core/minifloat.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnrun {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  // Bit pattern of the largest finite value, without sign. Patterns above it are infinity or NaN.
  uint16_t max_finite;
  uint16_t nan;
  // Pattern of +infinity; 0 if the type has none.
  uint16_t infinity;
  // True for the "uz" types, which use the pattern of -0 for NaN.
  bool unsigned_zero;
  // True if out-of-range values may be clamped to max_finite.
  bool may_saturate;
};

Format FormatOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {5, 10, 15, 0x7BFF, 0x7E00, 0x7C00, false, false};
    case DataType::kBfloat16:
      return {8, 7, 127, 0x7F7F, 0x7FC0, 0x7F80, false, false};
    case DataType::kFloat8E4M3FN:
      return {4, 3, 7, 0x7E, 0x7F, 0, false, true};
    case DataType::kFloat8E4M3FNUZ:
      return {4, 3, 8, 0x7F, 0x80, 0, true, true};
    case DataType::kFloat8E5M2:
      return {5, 2, 15, 0x7B, 0x7F, 0x7C, false, true};
    case DataType::kFloat8E5M2FNUZ:
      return {5, 2, 16, 0x7F, 0x80, 0, true, true};
    default:
      return {2, 1, 1, 0x7, 0, 0, false, true};  // float4e2m1: no infinity, no NaN
  }
}

// float8e8m0 is a plain power of two, 2^(bits - 127); 0xFF is NaN. It has no sign and no zero.
double DecodeE8M0(uint16_t bits) {
  return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

uint16_t EncodeE8M0(double value, bool saturate) {
  if (std::isnan(value)) return 0xFF;
  // ONNX converts the magnitude, and rounds up by default.
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return 0;
  if (std::isinf(magnitude)) return saturate ? 0xFE : 0xFF;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
  const int power = fraction == 0.5 ? exponent - 1 : exponent;
  if (power > 127) return saturate ? 0xFE : 0xFF;
  return static_cast<uint16_t>(std::max(power, -127) + 127);
}

}  // namespace

double DecodeFloat(DataType type, uint16_t bits) {
  if (type == DataType::kFloat8E8M0) return DecodeE8M0(bits);
  const Format format = FormatOf(type);
  const int sign_shift = format.exponent_bits + format.mantissa_bits;
  const auto magnitude = static_cast<uint16_t>(bits & ((1U << sign_shift) - 1));
  const bool negative = ((bits >> sign_shift) & 1) != 0;
  if (format.unsigned_zero && bits == format.nan) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > format.max_finite) {
    if (format.infinity == 0 || magnitude != format.infinity) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  const int exponent = magnitude >> format.mantissa_bits;
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  // Exponent 0 marks subnormals: no hidden bit, and the same scale as exponent 1.
  const int significand = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  const double value =
      std::ldexp(significand, std::max(exponent, 1) - format.bias - format.mantissa_bits);
  return negative ? -value : value;
}

uint16_t EncodeFloat(DataType type, double value, bool saturate) {
  if (type == DataType::kFloat8E8M0) return EncodeE8M0(value, saturate);
  const Format format = FormatOf(type);
  const auto sign = static_cast<uint16_t>(
      std::signbit(value) ? 1U << (format.exponent_bits + format.mantissa_bits) : 0);
  if (std::isnan(value)) return format.unsigned_zero ? format.nan : sign | format.nan;
  const double magnitude = std::fabs(value);
  const auto overflow = [&]() -> uint16_t {
    if (format.may_saturate && (saturate || format.nan == 0)) return sign | format.max_finite;
    if (format.infinity != 0) return sign | format.infinity;
    return format.unsigned_zero ? format.nan : sign | format.nan;
  };
  if (std::isinf(magnitude)) return overflow();
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // Exponent of the unit in the last place for this magnitude, at least that of the subnormals.
  const int lowest = 1 - format.bias - format.mantissa_bits;
  const int unit = std::max(exponent - 1 - format.mantissa_bits, lowest);
  const double steps = std::nearbyint(std::ldexp(magnitude, -unit));
  if (steps == 0) return format.unsigned_zero ? 0 : sign;
  // Patterns of one sign are ordered like their values, so a carry out of the mantissa gives the
  // right exponent.
  const double pattern =
      std::ldexp(static_cast<double>(unit - lowest), format.mantissa_bits) + steps;
  if (pattern > format.max_finite) return overflow();
  return sign | static_cast<uint16_t>(pattern);
}

}  // namespace attnrun
