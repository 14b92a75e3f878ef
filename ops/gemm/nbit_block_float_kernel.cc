// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_block_float_kernel.h"

#include "ops/gemm/nbit_block_float_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/nbit_block_float_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/nbit_words-inl.h"
#include "ops/tensors/cpu.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// In blocks of so many numbers, sums of codes times two digits are below 2^24: exact as floats.
constexpr int64_t kShortBlock = 32;

// 65536 a + 256 b + c, rounded once: as a float times a power of two plus a float, both exact.
template <bool kShort>
HWY_ATTR HWY_INLINE Vector Join(IntVector a, IntVector b, IntVector c) {
  const Ints d;
  const Floats floats;
  if constexpr (kShort) {
    const IntVector lower = hn::Add(hn::ShiftLeft<8>(b), c);
    return hn::MulAdd(hn::ConvertTo(floats, a), hn::Set(floats, 65536),
                      hn::ConvertTo(floats, lower));
  }
  const IntVector upper = hn::Add(hn::ShiftLeft<4>(a), hn::ShiftRight<4>(b));
  const IntVector lower = hn::Add(hn::ShiftLeft<8>(hn::And(b, hn::Set(d, 15))), c);
  return hn::MulAdd(hn::ConvertTo(floats, upper), hn::Set(floats, 4096),
                    hn::ConvertTo(floats, lower));
}

// totals += (sums - zero points * sums of values) * scales, for block `block` of a panel.
template <int R, bool kZeros, bool kShort>
HWY_ATTR HWY_INLINE void AddJoined(const float* row_scales, const int32_t* row_sums,
                                   const float* scales,
                                   const IntVector (&sums)[R * kByteDigits][kNarrow],
                                   float* totals) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  ATTNRUN_UNROLL(3)
  for (int r = 0; r < R; ++r) {
    const Vector scale = hn::Set(d, row_scales[r]);
    const int32_t* const digits = row_sums + r * kByteDigits;
    const Vector sum =
        hn::Set(d, static_cast<float>(digits[0] * 65536 + digits[1] * 256 + digits[2]));
    const IntVector(*const s)[kNarrow] = sums + r * kByteDigits;
    ATTNRUN_UNROLL(3)
    for (int v = 0; v < kNarrow; ++v) {
      AddScaled<kZeros>(Join<kShort>(s[0][v], s[1][v], s[2][v]), sum, scale, scales, v,
                        totals + (r * kNarrow + v) * lanes);
    }
  }
}

// R rows, which alternate.
template <int R, bool kZeros, bool kShort, bool kVnni>
HWY_ATTR HWY_NOINLINE void MultiplyBlockFloatAs(const RoundedProduct& p) {
  constexpr int kRows = R * kByteDigits;
  const auto width = static_cast<int64_t>(kNarrow * hn::Lanes(Floats()));
  const NBitFormat format = p.panel.format;
  const uint8_t* const last = p.end - width * 4;
  HWY_ALIGN float totals[R * kNarrow * hn::MaxLanes(Floats())] = {};
  for (int64_t block = 0; block < p.blocks; ++block) {
    const uint8_t* const data = p.panel.data + block * format.block_bytes;
    const int32_t* const row_sums = p.a.sums + block * R * kByteDigits;
    IntVector sums[kRows][kNarrow];
    BeginSums<kRows, kZeros>(sums, row_sums, 1);
    SumWords<kRows, kVnni>(sums, data + (kZeros ? 2 : 1) * width * 4, format.block / 8,
                           p.a.values + block * R * kByteDigits * format.block, format.block, last);
    AddJoined<R, kZeros, kShort>(p.a.scales + block * R, row_sums,
                                 reinterpret_cast<const float*>(data), sums, totals);
  }
  StoreTotals<R>(totals, p);
}

template <int R, bool kZeros, bool kShort>
void MultiplyBlocksOf(const RoundedProduct& p) {
#if HWY_TARGET <= HWY_AVX3
  if (ThisCpu().vnni) return MultiplyBlockFloatAs<R, kZeros, kShort, true>(p);
#endif
  MultiplyBlockFloatAs<R, kZeros, kShort, false>(p);
}

template <int R>
void MultiplyBlockFloatRows(const RoundedProduct& p) {
  const bool is_short = p.panel.format.block <= kShortBlock;
  if (p.panel.format.has_zero_points) {
    return is_short ? MultiplyBlocksOf<R, true, true>(p) : MultiplyBlocksOf<R, true, false>(p);
  }
  is_short ? MultiplyBlocksOf<R, false, true>(p) : MultiplyBlocksOf<R, false, false>(p);
}

void MultiplyBlockFloat(const RoundedProduct& product) {
  static_assert(kBlockFloatRows == 3);
  RoundedProduct p = product;
  for (; p.rows >= kBlockFloatRows; p.rows -= kBlockFloatRows) {
    MultiplyBlockFloatRows<kBlockFloatRows>(p);
    const int64_t blocks = kBlockFloatRows * p.blocks;
    p.c += kBlockFloatRows * p.ldc;
    p.a.values += blocks * kByteDigits * p.panel.format.block;
    p.a.scales += blocks;
    p.a.sums += blocks * kByteDigits;
  }
  if (p.rows == 2) MultiplyBlockFloatRows<2>(p);
  if (p.rows == 1) MultiplyBlockFloatRows<1>(p);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(MultiplyBlockFloat);

void MultiplyBlockFloat(const RoundedProduct& product) {
  HWY_DYNAMIC_DISPATCH(MultiplyBlockFloat)(product);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
