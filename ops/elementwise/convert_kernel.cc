// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "hwy/highway.h"
#include "ops/elementwise/rows.h"

namespace attnrun::ops {
namespace {

// Memory bandwidth is the limit, so wider instructions would gain nothing: one target is enough.
namespace hn = hwy::HWY_NAMESPACE;

// bool is read and written as the byte it is, since a file may hold bytes other than 0 and 1.
struct Bool {
  uint8_t byte;
};

// `value` truncated towards zero, modulo 2^64; NaN and infinities give 0. ONNX does not define the
// result for a number that the integer type does not hold.
int64_t TruncateModulo(double value) {
  if (std::fabs(value) < 0x1p63) return static_cast<int64_t>(value);
  if (!std::isfinite(value)) return 0;
  const double rest = std::fmod(std::trunc(value), 0x1p64);
  const auto magnitude = static_cast<uint64_t>(std::fabs(rest));
  return static_cast<int64_t>(rest < 0 ? 0 - magnitude : magnitude);
}

template <typename From, typename To>
To ConvertElement(From x) {
  if constexpr (std::is_same_v<From, Bool>) {
    return ConvertElement<uint8_t, To>(std::min<uint8_t>(x.byte, 1));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool{static_cast<uint8_t>(x != 0)};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(TruncateModulo(x));
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void ConvertElements(const From* x, To* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = ConvertElement<From, To>(x[i]);
}

// True if each of x[0, n) is within the range of int32.
bool AllFit(const float* x, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, 0x1p31F);
  auto all = hn::FirstN(d, lanes);
  for (size_t i = 0; i < n; i += lanes) {
    const auto v = n - i >= lanes ? hn::LoadU(d, x + i) : hn::LoadN(d, x + i, n - i);
    all = hn::And(all, hn::Lt(hn::Abs(v), limit));
  }
  return hn::AllTrue(d, all);
}

// Numbers that all fit 32 bits, as nearly always, are converted in vectors.
template <typename To>
void FloatsToIntegers(const float* x, To* y, size_t n) {
  // For 64-bit integers, a vector of floats has only as many lanes as a vector of integers.
  const hn::ScalableTag<std::conditional_t<sizeof(To) == 8, To, float>> widest;
  const hn::Rebind<float, decltype(widest)> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<To, decltype(d)> to;
  const size_t lanes = hn::Lanes(d);
  const size_t whole = AllFit(x, n) ? n / lanes * lanes : 0;
  for (size_t i = 0; i < whole; i += lanes) {
    const auto v = hn::ConvertTo(integers, hn::LoadU(d, x + i));
    if constexpr (sizeof(To) == 8) {
      hn::StoreU(hn::PromoteTo(to, v), to, y + i);
    } else if constexpr (sizeof(To) == 4) {
      hn::StoreU(v, to, y + i);
    } else {
      const hn::RebindToUnsigned<decltype(d)> bits;
      const hn::RebindToUnsigned<decltype(to)> bytes;
      hn::StoreU(hn::BitCast(to, hn::TruncateTo(bytes, hn::BitCast(bits, v))), to, y + i);
    }
  }
  ConvertElements(x + whole, y + whole, n - whole);
}

// Calls convert(x, y, n) for pieces that stay in the innermost cache, or once if all elements are
// one.
template <typename From, typename To, typename Function>
void ForPieces(const RowOperand& operand, void* out, size_t n, Function convert) {
  constexpr size_t kPiece = 512;
  const auto* x = static_cast<const From*>(operand.data);
  auto* y = static_cast<To*>(out);
  if (operand.mask == kSameElement) {
    if (n > 0) convert(x, y, 1);
    for (size_t i = 1; i < n; ++i) y[i] = y[0];
    return;
  }
  for (size_t i = 0; i < n; i += kPiece) convert(x + i, y + i, std::min(kPiece, n - i));
}

template <typename From, typename To>
void ConvertRows(const RowOperand* operands, void* out, size_t n, const RowParameters& /*unused*/) {
  if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
    ForPieces<From, To>(operands[0], out, n, FloatsToIntegers<To>);
  } else {
    ForPieces<From, To>(operands[0], out, n, ConvertElements<From, To>);
  }
}

// Converts between float and a 16-bit float.
template <typename From, typename To>
void ConvertHalves(const From* x, To* y, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<From, decltype(d)> from;
  const hn::Rebind<To, decltype(d)> to;
  const auto convert = [&](auto v) HWY_ATTR {
    if constexpr (sizeof(From) < sizeof(To)) {
      return hn::PromoteTo(to, v);
    } else {
      return hn::DemoteTo(to, v);
    }
  };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(convert(hn::LoadU(from, x + i)), to, y + i);
  if (i < n) hn::StoreN(convert(hn::LoadN(from, x + i, n - i)), to, y + i, n - i);
}

template <typename From, typename To>
void ConvertHalfRows(const RowOperand* operands, void* out, size_t n,
                     const RowParameters& /*unused*/) {
  ForPieces<From, To>(operands[0], out, n, ConvertHalves<From, To>);
}

template <typename From>
RowFunction ConvertFrom(DataType to) {
  switch (to) {
    case DataType::kFloat:
      return ConvertRows<From, float>;
    case DataType::kDouble:
      return ConvertRows<From, double>;
    case DataType::kInt64:
      return ConvertRows<From, int64_t>;
    case DataType::kInt32:
      return ConvertRows<From, int32_t>;
    case DataType::kUint8:
      return ConvertRows<From, uint8_t>;
    case DataType::kInt8:
      return ConvertRows<From, int8_t>;
    case DataType::kBool:
      return ConvertRows<From, Bool>;
    default:
      return nullptr;
  }
}

RowFunction ConvertFloat(DataType to) {
  if (to == DataType::kFloat16) return ConvertHalfRows<float, hwy::float16_t>;
  if (to == DataType::kBfloat16) return ConvertHalfRows<float, hwy::bfloat16_t>;
  return ConvertFrom<float>(to);
}

// int64 stands in for the integer types that have no functions of their own.
RowFunction ConvertInt64(DataType to) {
  if (to == DataType::kInt16) return ConvertRows<int64_t, int16_t>;
  if (to == DataType::kUint16) return ConvertRows<int64_t, uint16_t>;
  if (to == DataType::kUint32) return ConvertRows<int64_t, uint32_t>;
  return ConvertFrom<int64_t>(to);
}

}  // namespace

RowFunction ConvertRow(DataType from, DataType to) {
  const bool to_int64 = to == DataType::kInt64;
  switch (from) {
    case DataType::kFloat:
      return ConvertFloat(to);
    case DataType::kDouble:
      return ConvertFrom<double>(to);
    case DataType::kInt64:
      return ConvertInt64(to);
    case DataType::kInt32:
      return ConvertFrom<int32_t>(to);
    case DataType::kUint8:
      return ConvertFrom<uint8_t>(to);
    case DataType::kInt8:
      return ConvertFrom<int8_t>(to);
    case DataType::kBool:
      return ConvertFrom<Bool>(to);
    case DataType::kFloat16:
      return to == DataType::kFloat ? ConvertHalfRows<hwy::float16_t, float> : nullptr;
    case DataType::kBfloat16:
      return to == DataType::kFloat ? ConvertHalfRows<hwy::bfloat16_t, float> : nullptr;
    case DataType::kInt16:
      return to_int64 ? ConvertRows<int16_t, int64_t> : nullptr;
    case DataType::kUint16:
      return to_int64 ? ConvertRows<uint16_t, int64_t> : nullptr;
    case DataType::kUint32:
      return to_int64 ? ConvertRows<uint32_t, int64_t> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace attnrun::ops
