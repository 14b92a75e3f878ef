// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/qdq/quantize_integers.h"

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Quantizes to integers within the range of T, in lanes of 32 bits.
template <typename T>
class Quantizer {
 public:
  explicit Quantizer(const IntegerScale& by)
      : scale_(hn::Set(D(), by.scale)), zero_(hn::Set(D(), by.zero_point)) {}

  HWY_INLINE hn::VFromD<hn::RebindToSigned<hn::ScalableTag<float>>> operator()(
      hn::VFromD<hn::ScalableTag<float>> x) const {
    const D d;
    const auto low = hn::Set(d, static_cast<float>(hwy::LowestValue<T>()));
    const auto high = hn::Set(d, static_cast<float>(hwy::HighestValue<T>()));
    const auto y = hn::Add(hn::Round(hn::Div(x, scale_)), zero_);
    // NaN compares false.
    const auto within = hn::IfThenElse(hn::Gt(y, low), hn::Min(y, high), low);
    return hn::ConvertInRangeTo(hn::RebindToSigned<D>(), within);
  }

 private:
  using D = hn::ScalableTag<float>;
  const hn::VFromD<D> scale_;
  const hn::VFromD<D> zero_;
};

template <typename T>
void QuantizeTo(const float* x, size_t n, const IntegerScale& by, T* out) {
  const hn::ScalableTag<float> d;
  const hn::Repartition<int16_t, decltype(d)> halves;
  const hn::Repartition<T, decltype(d)> whole;
  const hn::Rebind<T, decltype(d)> part;
  const size_t lanes = hn::Lanes(d);
  const Quantizer<T> quantize(by);
  size_t i = 0;
  // Four vectors of floats make one of bytes.
  for (; sizeof(T) == 1 && i + 4 * lanes <= n; i += 4 * lanes) {
    if constexpr (sizeof(T) == 1) {
      const auto number = [&](size_t k)
                              HWY_ATTR { return quantize(hn::LoadU(d, x + i + k * lanes)); };
      const auto low = hn::OrderedDemote2To(halves, number(0), number(1));
      const auto high = hn::OrderedDemote2To(halves, number(2), number(3));
      hn::StoreU(hn::OrderedDemote2To(whole, low, high), whole, out + i);
    }
  }
  for (; i < n; i += lanes) {
    const size_t left = HWY_MIN(lanes, n - i);
    hn::StoreN(hn::DemoteTo(part, quantize(hn::LoadN(d, x + i, left))), part, out + i, left);
  }
}

template <typename T>
void DequantizeFrom(const T* x, size_t n, const IntegerScale& by, float* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> ints;
  const hn::Rebind<T, decltype(d)> bytes;
  const size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, by.scale);
  const auto zero = hn::Set(d, by.zero_point);
  for (size_t i = 0; i < n; i += lanes) {
    const bool whole = n - i >= lanes;
    const auto v = whole ? hn::LoadU(bytes, x + i) : hn::LoadN(bytes, x + i, n - i);
    const auto y = hn::Mul(hn::Sub(hn::ConvertTo(d, hn::PromoteTo(ints, v)), zero), scale);
    if (whole) {
      hn::StoreU(y, d, out + i);
    } else {
      hn::StoreN(y, d, out + i, n - i);
    }
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace attnrun::ops {
namespace {

// Calls f with an integer of the type. Precondition: IsShortInteger(type).
template <class F>
void OfType(DataType type, F f) {
  switch (type) {
    case DataType::kUint8:
      return f(uint8_t{});
    case DataType::kInt8:
      return f(int8_t{});
    case DataType::kUint16:
      return f(uint16_t{});
    default:
      return f(int16_t{});
  }
}

}  // namespace

void QuantizeIntegers(const float* x, size_t n, const IntegerScale& by, void* out) {
  OfType(by.type, [&](auto zero) {
    HWY_NAMESPACE::QuantizeTo(x, n, by, static_cast<decltype(zero)*>(out));
  });
}

void DequantizeIntegers(const void* x, size_t n, const IntegerScale& by, float* out) {
  OfType(by.type, [&](auto zero) {
    HWY_NAMESPACE::DequantizeFrom(static_cast<const decltype(zero)*>(x), n, by, out);
  });
}

}  // namespace attnrun::ops
