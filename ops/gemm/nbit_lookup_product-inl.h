// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_NBIT_LOOKUP_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_NBIT_LOOKUP_PRODUCT_INL_H_
#undef ATTNRUN_OPS_GEMM_NBIT_LOOKUP_PRODUCT_INL_H_
#else
#define ATTNRUN_OPS_GEMM_NBIT_LOOKUP_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/nbit_lookup-inl.h"
#include "ops/gemm/nbit_prefetch-inl.h"
#include "ops/gemm/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3

template <class C>
HWY_ATTR void DequantizeByLookup(const NBitPanel& panel, int64_t begin, int64_t end, float* to) {
  using Scaling = LookupScaling<C>;
  ForEachRow<C>(
      panel, begin, end, [](const uint8_t* /*words*/) HWY_ATTR {},
      [&](int64_t k, const CodeWords* codes, const Scaling& scaling) HWY_ATTR {
        ATTNRUN_UNROLL(3)
        for (int v = 0; v < kNarrow; ++v) {
          hn::StoreU(scaling.At(codes[v], v), Floats(), to + k * Scaling::kWidth + v * 16);
        }
      });
}

// Writes the sums of R rows and one panel to C.
template <int R>
HWY_ATTR HWY_INLINE void StoreSums(const Vector (&sums)[R][kNarrow], const FewRowsProduct& p) {
  ATTNRUN_UNROLL(4)
  for (int r = 0; r < R; ++r) {
    ATTNRUN_UNROLL(3)
    for (int64_t v = 0; v < kNarrow; ++v) {
      const int64_t left = std::max<int64_t>(p.columns - v * 16, 0);
      hn::StoreN(sums[r][v], Floats(), p.c + r * p.ldc + v * 16, left);
    }
  }
}

// One panel times R rows, summed in the order of MultiplyTiles.
template <class C, int R>
HWY_ATTR HWY_NOINLINE void MultiplyByLookup(const FewRowsProduct& p) {
  const Floats d;
  const DepthParts depth(p.panel.format.rows, p.blocks);
  const uint8_t* const last = p.end - kNarrow * kLine;
  const int64_t lda = p.lda;
  Vector total[R][kNarrow];
  for (int64_t part = 0; part < p.blocks; ++part) {
    const float* const a = p.a + depth.Begin(part);
    Vector sum[R][kNarrow];
    ATTNRUN_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      ATTNRUN_UNROLL(3)
      for (int v = 0; v < kNarrow; ++v) sum[r][v] = hn::Zero(d);
    }
    ForEachRow<C>(
        p.panel, depth.Begin(part), depth.Begin(part + 1),
        [&](const uint8_t* words) HWY_ATTR { PrefetchWords(words, last); },
        [&](int64_t k, const CodeWords* codes, const LookupScaling<C>& scaling) HWY_ATTR {
          Vector weight[kNarrow];
          ATTNRUN_UNROLL(3)
          for (int v = 0; v < kNarrow; ++v) weight[v] = scaling.At(codes[v], v);
          ATTNRUN_UNROLL(4)
          for (int r = 0; r < R; ++r) {
            const Vector factor = hn::Set(d, a[r * lda + k]);
            ATTNRUN_UNROLL(3)
            for (int v = 0; v < kNarrow; ++v) sum[r][v] = hn::MulAdd(factor, weight[v], sum[r][v]);
            StaysInRegister(factor);
          }
        });
    ATTNRUN_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      ATTNRUN_UNROLL(3)
      for (int v = 0; v < kNarrow; ++v) {
        total[r][v] = part == 0 ? sum[r][v] : hn::Add(sum[r][v], total[r][v]);
      }
    }
  }
  StoreSums<R>(total, p);
}

#else

// Only declared: codes are not looked up.
template <class C>
void DequantizeByLookup(const NBitPanel& panel, int64_t begin, int64_t end, float* to);
template <class C, int R>
void MultiplyByLookup(const FewRowsProduct& p);

#endif

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
