// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_int8_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/nbit_int8_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/nbit_words-inl.h"
#include "ops/tensors/cpu.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// totals += (sums - zero points * sums of values) * scales, for block `block` of a panel.
template <int R, bool kZeros>
HWY_ATTR HWY_INLINE void AddSums(const RoundedProduct& p, int64_t block, const float* scales,
                                 const IntVector (&sums)[R][kNarrow], float* totals) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  ATTNRUN_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    const Vector scale = hn::Set(d, p.a.scales[r * p.blocks + block]);
    const Vector sum = hn::Set(d, static_cast<float>(p.a.sums[r * p.blocks + block]));
    ATTNRUN_UNROLL(3)
    for (int v = 0; v < kNarrow; ++v) {
      AddScaled<kZeros>(hn::ConvertTo(d, sums[r][v]), sum, scale, scales, v,
                        totals + (r * kNarrow + v) * lanes);
    }
  }
}

// The sums of integers fill the registers; those of floats, used once in a block, are in memory.
template <int R, bool kZeros, bool kVnni>
HWY_ATTR HWY_NOINLINE void MultiplyRoundedAs(const RoundedProduct& p) {
  const auto width = static_cast<int64_t>(kNarrow * hn::Lanes(Floats()));
  const NBitFormat format = p.panel.format;
  const uint8_t* const last = p.end - width * 4;
  HWY_ALIGN float totals[R * kNarrow * hn::MaxLanes(Floats())] = {};
  for (int64_t block = 0; block < p.blocks; ++block) {
    const uint8_t* const data = p.panel.data + block * format.block_bytes;
    IntVector sums[R][kNarrow];
    BeginSums<R, kZeros>(sums, p.a.sums + block, p.blocks);
    SumWords<R, kVnni>(sums, data + (kZeros ? 2 : 1) * width * 4, format.block / 8,
                       p.a.values + block * format.block, p.blocks * format.block, last);
    AddSums<R, kZeros>(p, block, reinterpret_cast<const float*>(data), sums, totals);
  }
  StoreTotals<R>(totals, p);
}

template <int R>
void MultiplyTile(const RoundedProduct& p) {
  const bool zeros = p.panel.format.has_zero_points;
#if HWY_TARGET <= HWY_AVX3
  if (ThisCpu().vnni) {
    return zeros ? MultiplyRoundedAs<R, true, true>(p) : MultiplyRoundedAs<R, false, true>(p);
  }
#endif
  return zeros ? MultiplyRoundedAs<R, true, false>(p) : MultiplyRoundedAs<R, false, false>(p);
}

void MultiplyRounded(const RoundedProduct& product) {
  constexpr int kTall = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
  using Function = void (*)(const RoundedProduct&);
  constexpr Function kFew[] = {MultiplyTile<1>, MultiplyTile<2>, MultiplyTile<3>, MultiplyTile<4>};
  RoundedProduct p = product;
  while (p.rows > 0) {
    const int64_t tile = p.rows >= kTall ? kTall : std::min<int64_t>(p.rows, 4);
    (tile == kTall ? MultiplyTile<kTall> : kFew[tile - 1])(p);
    p.rows -= tile;
    p.c += tile * p.ldc;
    p.a.values += tile * p.blocks * p.panel.format.block;
    p.a.scales += tile * p.blocks;
    p.a.sums += tile * p.blocks;
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(MultiplyRounded);

void MultiplyRounded(const RoundedProduct& product) {
  HWY_DYNAMIC_DISPATCH(MultiplyRounded)(product);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
