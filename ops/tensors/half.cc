// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/tensors/half.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/tensors/bf16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

// Narrows or widens vector by vector.
template <typename From, typename To, typename Convert>
HWY_INLINE void ForEachVector(const From* from, int64_t count, To* to, Convert convert) {
  const hn::Rebind<From, Floats> source;
  const hn::Rebind<To, Floats> target;
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(convert(hn::LoadU(source, from + i)), target, to + i);
  }
  const auto rest = static_cast<size_t>(count - i);
  if (rest > 0) hn::StoreN(convert(hn::LoadN(source, from + i, rest)), target, to + i, rest);
}

void NarrowToBf16(const float* from, int64_t count, uint16_t* to) {
  const hn::Rebind<uint16_t, Floats> d16;
  ForEachVector(from, count, to, [&](auto x) HWY_ATTR {
    return hn::TruncateTo(d16, hn::ShiftRight<16>(RoundedBits(x)));
  });
}

void WidenBf16(const uint16_t* from, int64_t count, float* to) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> bits;
  ForEachVector(from, count, to, [&](auto x) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, x)));
  });
}

void NarrowToFloat16(const float* from, int64_t count, uint16_t* to) {
  const hn::Rebind<hwy::float16_t, Floats> half;
  const hn::Rebind<uint16_t, Floats> d16;
  ForEachVector(from, count, to,
                [&](auto x) HWY_ATTR { return hn::BitCast(d16, hn::DemoteTo(half, x)); });
}

void WidenFloat16(const uint16_t* from, int64_t count, float* to) {
  const Floats d;
  const hn::Rebind<hwy::float16_t, Floats> half;
  ForEachVector(from, count, to,
                [&](auto x) HWY_ATTR { return hn::PromoteTo(d, hn::BitCast(half, x)); });
}

void RoundToBf16(float* floats, int64_t count) {
  const Floats d;
  ForEachVector(floats, count, floats,
                [&](auto x) HWY_ATTR { return hn::BitCast(d, RoundedBits(x)); });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(NarrowToBf16);
HWY_EXPORT(WidenBf16);
HWY_EXPORT(NarrowToFloat16);
HWY_EXPORT(WidenFloat16);
HWY_EXPORT(RoundToBf16);

void NarrowToBf16(const float* from, int64_t count, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(NarrowToBf16)(from, count, to);
}
void WidenBf16(const uint16_t* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(WidenBf16)(from, count, to);
}
void NarrowToFloat16(const float* from, int64_t count, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(NarrowToFloat16)(from, count, to);
}
void WidenFloat16(const uint16_t* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(WidenFloat16)(from, count, to);
}
void RoundToBf16(float* floats, int64_t count) { HWY_DYNAMIC_DISPATCH(RoundToBf16)(floats, count); }

}  // namespace attnrun::ops
#endif  // HWY_ONCE
