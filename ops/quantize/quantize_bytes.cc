#include "ops/quantize/quantize_bytes.h"

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void QuantizeTo(const float* x, size_t n, const ByteScale& by, T* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> ints;
  const hn::Rebind<T, decltype(d)> bytes;
  const size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, by.scale);
  const auto zero = hn::Set(d, by.zero_point);
  const auto low = hn::Set(d, static_cast<float>(hwy::LowestValue<T>()));
  const auto high = hn::Set(d, static_cast<float>(hwy::HighestValue<T>()));
  for (size_t i = 0; i < n; i += lanes) {
    const bool whole = n - i >= lanes;
    const auto v = whole ? hn::LoadU(d, x + i) : hn::LoadN(d, x + i, n - i);
    const auto y = hn::Add(hn::Round(hn::Div(v, scale)), zero);
    // NaN compares false.
    const auto within = hn::IfThenElse(hn::Gt(y, low), hn::Min(y, high), low);
    const auto result = hn::DemoteTo(bytes, hn::ConvertTo(ints, within));
    if (whole) {
      hn::StoreU(result, bytes, out + i);
    } else {
      hn::StoreN(result, bytes, out + i, n - i);
    }
  }
}

template <typename T>
void DequantizeFrom(const T* x, size_t n, const ByteScale& by, float* out) {
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

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace attnrun {

void QuantizeBytes(const float* x, size_t n, const ByteScale& by, void* out) {
  if (by.is_signed) {
    HWY_NAMESPACE::QuantizeTo(x, n, by, static_cast<int8_t*>(out));
  } else {
    HWY_NAMESPACE::QuantizeTo(x, n, by, static_cast<uint8_t*>(out));
  }
}

void DequantizeBytes(const void* x, size_t n, const ByteScale& by, float* out) {
  if (by.is_signed) {
    HWY_NAMESPACE::DequantizeFrom(static_cast<const int8_t*>(x), n, by, out);
  } else {
    HWY_NAMESPACE::DequantizeFrom(static_cast<const uint8_t*>(x), n, by, out);
  }
}

}  // namespace attnrun
