// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/nbit_rounding.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/nbit_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rounds a block, of which `count` elements exist; returns the sum of the values.
HWY_ATTR HWY_INLINE int32_t RoundBlock(const float* x, int64_t count, int64_t block, float factor,
                                       int8_t* to) {
  const Ints d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  IntVector sum = hn::Zero(d);
  for (int64_t i = 0; i < block; i += lanes) {
    const IntVector values = RoundUpTo(x + i, count - i, factor);
    sum = hn::Add(sum, values);
    StoreEvenFirst(values, to + i);
  }
  return hn::ReduceSum(d, sum);
}

void RoundRow(const float* x, int64_t k, int64_t block, const RoundedRow& to) {
  constexpr float kLeast = 0x1p-100F;
  int8_t* values = to.values;
  float* scale = to.scales;
  int32_t* sum = to.sums;
  for (int64_t begin = 0; begin < k; begin += block) {
    const int64_t count = std::min(block, k - begin);
    const float largest = Largest(x + begin, count);
    if (largest >= kLeast && std::isfinite(largest)) {
      *sum = RoundBlock(x + begin, count, block, 127 / largest, values);
      *scale = largest / 127;
    } else {
      std::fill_n(values, block, 0);
      *sum = 0;
      *scale = largest < kLeast ? 0 : std::numeric_limits<float>::quiet_NaN();
    }
    values += to.alternating * block;
    scale += to.alternating;
    sum += to.alternating;
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(RoundRow);

void RoundRow(const float* x, int64_t k, int64_t block, const RoundedRow& to) {
  HWY_DYNAMIC_DISPATCH(RoundRow)(x, k, block, to);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
