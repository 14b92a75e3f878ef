// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/minifloat.h"
#include "core/status.h"
#include "ops/elementwise/cast.h"

namespace attnrun::ops {
namespace {

bool IsNumber(DataType type) {
  return IsFloatingPoint(type) || IsInteger(type) || type == DataType::kBool;
}

// A 64-bit integer as a double that rounds to the same shorter float as the integer itself: if
// digits are lost, the last one that is kept is made odd, so that no new tie appears.
double RoundToOdd(uint64_t magnitude) {
  constexpr uint64_t kLost = 0x7FF;
  if (magnitude < uint64_t{1} << 53) return static_cast<double>(magnitude);
  const bool inexact = (magnitude & kLost) != 0;
  return static_cast<double>((magnitude & ~kLost) | (inexact ? kLost + 1 : 0));
}

std::vector<double> IntegersAsDoubles(const std::vector<int64_t>& values, DataType from,
                                      DataType to) {
  std::vector<double> result;
  for (const int64_t value : values) {
    const bool negative = value < 0 && from != DataType::kUint64;
    const auto bits = static_cast<uint64_t>(value);
    const uint64_t magnitude = negative ? 0 - bits : bits;
    const double rounded =
        to == DataType::kDouble ? static_cast<double>(magnitude) : RoundToOdd(magnitude);
    result.push_back(negative ? -rounded : rounded);
  }
  return result;
}

// The float8e8m0 pattern of |value|: an exponent of two, biased by 127.
uint8_t EncodePower(double value, const CastRules& rules) {
  constexpr uint8_t kNaN = 0xFF;
  constexpr int kBias = 127;
  if (std::isnan(value)) return kNaN;
  if (value == 0) return rules.saturate ? 0 : kNaN;
  if (std::isinf(value)) return rules.saturate ? kNaN - 1 : kNaN;
  int exponent = 0;
  const double fraction = 2 * std::frexp(std::fabs(value), &exponent);  // in [1, 2)
  int power = exponent - 1;
  const bool up =
      rules.round_mode == "up" ? fraction > 1 : rules.round_mode == "nearest" && fraction >= 1.5;
  if (up) ++power;
  if (power > kBias) return rules.saturate ? kNaN - 1 : kNaN;
  if (power < -kBias) return rules.saturate ? 0 : kNaN;
  return static_cast<uint8_t>(power + kBias);
}

absl::StatusOr<Tensor> EncodeFloat8s(DataType type, const Shape& shape,
                                     const std::vector<double>& values, const CastRules& rules,
                                     Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, Tensor::Allocate(type, shape, allocator));
  auto* out = y.mutable_data<uint8_t>();
  for (const double value : values) {
    *out++ = type == DataType::kFloat8E8M0
                 ? EncodePower(value, rules)
                 : static_cast<uint8_t>(EncodeFloat(type, value, rules.saturate));
  }
  return y;
}

}  // namespace

absl::StatusOr<Tensor> CastTensor(const Tensor& x, DataType to, const CastRules& rules,
                                  Allocator& allocator) {
  const DataType from = x.type();
  const bool strings = from == DataType::kString || to == DataType::kString;
  if (!(IsNumber(from) || from == DataType::kString) ||
      !(IsNumber(to) || to == DataType::kString)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no cast from ", TypeAndShape(x), " to ", Name(to)));
  }
  if (from == to) return x;
  if (strings && from == DataType::kString) return CastFromStrings(x, to, rules, allocator);
  if (strings) return CastToStrings(x, allocator);
  std::vector<double> values;
  if (IsFloatingPoint(from)) {
    ATTNRUN_ASSIGN_OR_RETURN(values, ToDoubles(x));
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> integers, ToInts(x));
    if (from == DataType::kBool) {
      for (int64_t& value : integers) value = value != 0 ? 1 : 0;
    }
    if (!IsFloatingPoint(to)) return FromInts(to, x.shape(), integers, allocator);
    values = IntegersAsDoubles(integers, from, to);
  }
  if (IsFloatingPoint(to) && BitWidth(to) == 8) {
    return EncodeFloat8s(to, x.shape(), values, rules, allocator);
  }
  return FromDoubles(to, x.shape(), values, allocator);
}

absl::Status Cast::Reference(OpContext& context) const {
  const DataType to = to_ != DataType::kUndefined ? to_ : context.input(1).type();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, CastTensor(context.input(0), to, rules_, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
