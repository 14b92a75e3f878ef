// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_ATTENTION_ATTENTION_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_ATTENTION_ATTENTION_REDUCE_INL_H_
#undef ATTNRUN_OPS_ATTENTION_ATTENTION_REDUCE_INL_H_
#else
#define ATTNRUN_OPS_ATTENTION_ATTENTION_REDUCE_INL_H_
#endif

#include "hwy/highway.h"
#include "ops/attention/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Reduces each block of four lanes of four rows with `combine`: lane r of a block of the result is
// that block of row r, reduced.
template <class Combine>
HWY_INLINE FloatVec ReduceBlocks(FloatVec row0, FloatVec row1, FloatVec row2, FloatVec row3,
                                 Combine combine) {
  const FloatTag d;
  const hn::Repartition<double, FloatTag> dd;
  const auto pair = [&](FloatVec a, FloatVec b) HWY_ATTR {
    return hn::BitCast(dd, combine(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto low = pair(row0, row1);
  const auto high = pair(row2, row3);
  return combine(hn::BitCast(d, hn::InterleaveLower(dd, low, high)),
                 hn::BitCast(d, hn::InterleaveUpper(dd, low, high)));
}

// Lane r of the result is all lanes of row(r) reduced with `combine`, which must be commutative, in
// the same order for every r. Each step of this tree halves the number of vectors; reducing one row
// after the other would take three times as many steps.
template <class Row, class Combine>
HWY_INLINE FloatVec ReduceRows(Row row, Combine combine) {
  const FloatTag d;
  const auto four = [&](size_t r) HWY_ATTR {
    return ReduceBlocks(row(r), row(r + 1), row(r + 2), row(r + 3), combine);
  };
  const auto halves = [&](FloatVec a, FloatVec b) HWY_ATTR {
    return combine(hn::ConcatLowerLower(d, b, a), hn::ConcatUpperUpper(d, b, a));
  };
#if HWY_TARGET <= HWY_AVX3
  const FloatVec even = halves(four(0), four(8));
  const FloatVec odd = halves(four(4), four(12));
  return hn::OddEvenBlocks(combine(odd, hn::SwapAdjacentBlocks(odd)),
                           combine(even, hn::SwapAdjacentBlocks(even)));
#else
  return halves(four(0), four(4));
#endif
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
