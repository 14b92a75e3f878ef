// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/nbit_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/nbit_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/nbit_codes-inl.h"
#include "ops/gemm/nbit_lookup_product-inl.h"
#include "ops/gemm/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The value of the lowest code of each word.
template <class C>
HWY_ATTR HWY_INLINE Vector LowestCode(hn::Vec<Words> words, Vector scale, Vector zero) {
  const Vector x = hn::ConvertTo(Floats(), hn::And(words, hn::Set(Words(), int32_t{C::kMask})));
  return C::kHasZeroPoint ? hn::Mul(hn::Sub(x, zero), scale) : hn::MulAdd(x, scale, zero);
}

// Dequantizes `count` rows of one word from code `first` on, row by row so that cache lines are
// written whole. Words are read once and shifted: stores leave no time for more loads.
template <class C>
HWY_ATTR HWY_INLINE void DequantizeWord(const Vector (&scale)[kNarrow],
                                        const Vector (&zero)[kNarrow], const uint8_t* from,
                                        int first, int count, float* to) {
  const Floats d;
  const Words words;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<Words> word[kNarrow];
  for (int v = 0; v < kNarrow; ++v) {
    const auto* const at = reinterpret_cast<const int32_t*>(from) + v * lanes;
    word[v] = hn::ShiftRightSame(hn::LoadU(words, at), first * C::kBits);
  }
  ATTNRUN_UNROLL(16)
  for (int i = 0; i < count; ++i) {
    ATTNRUN_UNROLL(3)
    for (int v = 0; v < kNarrow; ++v) {
      hn::StoreU(LowestCode<C>(word[v], scale[v], zero[v]), d, to + v * lanes);
      word[v] = hn::ShiftRight<C::kBits>(word[v]);
    }
    to += kNarrow * lanes;
  }
}

template <class C>
HWY_ATTR void DequantizeAs(const NBitPanel& panel, int64_t begin, int64_t end, float* to) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = kNarrow * lanes;
  for (int64_t from = begin; from < end;) {
    const int64_t until = std::min(end, Place::End(panel.format.block, from));
    const Place place = Place::Of<C>(panel, width, from);
    Vector scale[kNarrow];
    Vector zero[kNarrow];
    for (int v = 0; v < kNarrow; ++v) {
      scale[v] = hn::LoadU(d, place.block + v * lanes);
      zero[v] = C::kHasZeroPoint ? hn::LoadU(d, place.block + width + v * lanes)
                                 : hn::Mul(scale[v], hn::Set(d, -C::kMiddle));
    }
    const uint8_t* words = place.words;
    ForEachWord<C>(from, until, [&](int64_t /*k*/, int first, int count) HWY_ATTR {
      if (count == C::kPerWord) {
        DequantizeWord<C>(scale, zero, words, 0, C::kPerWord, to);
      } else {
        DequantizeWord<C>(scale, zero, words, first, count, to);
      }
      words += width * 4;
      to += count * width;
    });
    from = until;
  }
}

// The product of R rows and V vectors of columns, one block of the weight at a time. Vectors from
// kSplit on are those with which the next panel begins.
template <class C, int R, int V, int kSplit>
struct FewRows {
  struct Sums {
    Vector v[R][V];
  };

  HWY_ATTR HWY_INLINE FewRows(const FewRowsProduct& p, int64_t k) : a(p.a + k, p.lda) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    width = kNarrow * lanes;
    next_panel = p.panel.format.panel_bytes - (kNarrow - kSplit) * lanes * kFloat;
    const Place place = Place::Of<C>(p.panel, width, k);
    words = place.words;
    ATTNRUN_UNROLL(6)
    for (int v = 0; v < V; ++v) {
      const uint8_t* const block = VectorAt(reinterpret_cast<const uint8_t*>(place.block), v);
      scaling.Read(v, reinterpret_cast<const float*>(block), width);
    }
  }

  // Vector `v` of a line of the panels whose first vector is at `line`.
  HWY_INLINE const uint8_t* VectorAt(const uint8_t* line, int v) const {
    const auto bytes = static_cast<int64_t>(hn::Lanes(Floats())) * kFloat;
    return v < kSplit ? line + v * bytes : line + next_panel + (v - kSplit) * bytes;
  }

  // Adds codes [first, first + count) of the words times as many columns of A.
  HWY_ATTR HWY_INLINE void AddCodes(Sums& sums, const uint8_t* from, const Rows<R>& rows,
                                    const Vector* zero, int first, int count) const {
    const Floats d;
    auto mask = Extraction<C>::MaskOf(first);
    ATTNRUN_UNROLL(16)
    for (int i = 0; i < count; ++i) {
      const Scaling<C, V>* const scales = Opaque(&scaling);
      asm volatile("" : "+v"(mask.raw));
      if constexpr (R <= 2) {
        Vector factor[R];
        ATTNRUN_UNROLL(4)
        for (int r = 0; r < R; ++r) factor[r] = hn::Set(d, rows.At(r)[i]);
        ATTNRUN_UNROLL(6)
        for (int v = 0; v < V; ++v) {
          const Vector weight = scales->At(VectorAt(from, v), first + i, v, mask, zero[v]);
          ATTNRUN_UNROLL(4)
          for (int r = 0; r < R; ++r) sums.v[r][v] = hn::MulAdd(factor[r], weight, sums.v[r][v]);
        }
      } else {
        // Registers are scarce: all weights first, so that one factor is needed at a time.
        Vector weight[V];
        ATTNRUN_UNROLL(6)
        for (int v = 0; v < V; ++v) {
          weight[v] = scales->At(VectorAt(from, v), first + i, v, mask, zero[v]);
        }
        ATTNRUN_UNROLL(4)
        for (int r = 0; r < R; ++r) {
          const Vector factor = hn::Set(d, rows.At(r)[i]);
          ATTNRUN_UNROLL(6)
          for (int v = 0; v < V; ++v) sums.v[r][v] = hn::MulAdd(factor, weight[v], sums.v[r][v]);
          if constexpr (V > 1) StaysInRegister(factor);
        }
      }
      mask = Extraction<C>::Following(mask, first + i);
    }
  }

  // Prefetches words of the panels that follow, which a row reads at the speed of memory. The
  // hardware's prefetcher begins anew with each pair of panels.
  HWY_INLINE void PrefetchNext(const uint8_t* from) const {
    constexpr int kSecondLevel = 2;
    constexpr int64_t kLineBytes = 64;
    constexpr int kPanels = V / kNarrow;
    for (int panel = kPanels; panel < 2 * kPanels; ++panel) {
      for (int64_t i = 0; i < width * kFloat; i += kLineBytes) {
        __builtin_prefetch(from + panel * next_panel + i, 0, kSecondLevel);
      }
    }
  }

  HWY_ATTR HWY_INLINE void AddWords(Sums& sums, int64_t count) {
    Sums local = sums;
    const uint8_t* from = words;
    Rows<R> rows = a;
    const int64_t step = width * kFloat;
    Vector zero[V];
    ATTNRUN_UNROLL(6)
    for (int v = 0; v < V; ++v) zero[v] = scaling.zero[0][v];
    for (int64_t left = count; left > 0; --left) {
      if constexpr (R == 1 && HWY_TARGET > HWY_AVX3) PrefetchNext(from);
      AddCodes(local, from, rows, zero, 0, C::kPerWord);
      from += step;
      rows.Advance(C::kPerWord);
    }
    words = from;
    a.Advance(count * C::kPerWord);
    sums = local;
  }

  // Adds codes [first, first + count) of one word. Not inlined, so that it takes no registers from
  // the loop over whole words.
  HWY_ATTR HWY_NOINLINE void AddPart(Sums& sums, int first, int count) {
    AddCodes(sums, words, a, scaling.zero[0], first, count);
    words += width * kFloat;
    a.Advance(count);
  }

  // Words are as long as floats.
  static constexpr int64_t kFloat = sizeof(float);

  int64_t width;
  // From the first vector to that of index kSplit, in bytes.
  int64_t next_panel;
  Rows<R> a;
  const uint8_t* HWY_RESTRICT words;
  Scaling<C, V> scaling;
};

// Adds rows [begin, end) of K, split at blocks and words.
template <class C, int R, int V, int kSplit>
HWY_ATTR HWY_INLINE void AddRows(const FewRowsProduct& p, int64_t begin, int64_t end,
                                 typename FewRows<C, R, V, kSplit>::Sums& sums) {
  const int64_t block = p.panel.format.block;
  for (int64_t k = begin; k < end;) {
    const int64_t until = std::min(end, Place::End(block, k));
    FewRows<C, R, V, kSplit> rows(p, k);
    const auto first = static_cast<int>(k % C::kPerWord);
    if (first != 0) {
      const auto count = static_cast<int>(std::min<int64_t>(C::kPerWord - first, until - k));
      rows.AddPart(sums, first, count);
      k += count;
    }
    rows.AddWords(sums, (until - k) / C::kPerWord);
    const auto left = static_cast<int>((until - k) % C::kPerWord);
    if (left != 0) rows.AddPart(sums, 0, left);
    k = until;
  }
}

// Sums block after block of K and adds their sums in the order of MultiplyTiles.
template <class C, int R, int V, int kSplit>
HWY_ATTR HWY_NOINLINE void MultiplyVectors(const FewRowsProduct& p) {
  const Floats d;
  const DepthParts depth(p.panel.format.rows, p.blocks);
  typename FewRows<C, R, V, kSplit>::Sums total;
  for (int64_t part = 0; part < p.blocks; ++part) {
    typename FewRows<C, R, V, kSplit>::Sums sums;
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) sums.v[r][v] = hn::Zero(d);
    }
    AddRows<C, R, V, kSplit>(p, depth.Begin(part), depth.Begin(part + 1), sums);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        total.v[r][v] = part == 0 ? sums.v[r][v] : hn::Add(sums.v[r][v], total.v[r][v]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) {
      const auto at = static_cast<int64_t>(v * hn::Lanes(d));
      const int64_t left = std::max<int64_t>(p.columns - at, 0);
      hn::StoreN(total.v[r][v], d, p.c + r * p.ldc + at, left);
    }
  }
}

// Multiplies by the V vectors of columns from vector `first` of the panels on.
template <class C, int R, int V, int kSplit = V>
HWY_ATTR void MultiplyFrom(const FewRowsProduct& p, int first) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  FewRowsProduct some = p;
  some.columns -= first * lanes;
  if (some.columns <= 0) return;
  some.panel.data += first / kNarrow * p.panel.format.panel_bytes +
                     first % kNarrow * lanes * static_cast<int64_t>(sizeof(float));
  some.c += first * lanes;
  MultiplyVectors<C, R, V, kSplit>(some);
}

// Multiplies R rows by as many vectors at a time as leave all sums in registers, if there are two
// panels: six for one row, whose three sums would wait for each other, and two for four rows.
template <class C, int R>
void MultiplyVectorsOf(const FewRowsProduct& p) {
  const bool both = p.panels == 2;
  if constexpr (R == 1) {
    if (both) return MultiplyFrom<C, 1, 2 * kNarrow, kNarrow>(p, 0);
  }
  if constexpr (R < 4) {
    MultiplyFrom<C, R, kNarrow>(p, 0);
    if (both) MultiplyFrom<C, R, kNarrow>(p, kNarrow);
  } else {
    MultiplyFrom<C, R, 2>(p, 0);
    if (!both) return MultiplyFrom<C, R, 1>(p, 2);
    MultiplyFrom<C, R, 2, 1>(p, 2);
    MultiplyFrom<C, R, 2>(p, 4);
  }
}

template <class C, int R>
void MultiplyRows(const FewRowsProduct& p) {
  if constexpr (kLooksUp<C>) {
    const int64_t width = kNarrow * static_cast<int64_t>(hn::Lanes(Floats()));
    FewRowsProduct one = p;
    for (int64_t panel = 0; panel < p.panels; ++panel) {
      one.columns = std::min(p.columns - panel * width, width);
      MultiplyByLookup<C, R>(one);
      one.panel.data += p.panel.format.panel_bytes;
      one.c += width;
    }
  } else {
    MultiplyVectorsOf<C, R>(p);
  }
}

template <class C>
void MultiplyAs(const FewRowsProduct& p) {
  using Function = void (*)(const FewRowsProduct&);
  constexpr Function kByRows[kFewRows] = {MultiplyRows<C, 1>, MultiplyRows<C, 2>,
                                          MultiplyRows<C, 3>, MultiplyRows<C, 4>};
  kByRows[p.rows - 1](p);
}

// Calls function(Code) with the Code of the format.
template <class F>
void WithCode(const NBitFormat& format, F function) {
  if (format.bits == 2) return function(Code<2, true>());
  if (format.bits == 4) {
    return format.has_zero_points ? function(Code<4, true>()) : function(Code<4, false>());
  }
  return format.has_zero_points ? function(Code<8, true>()) : function(Code<8, false>());
}

void MultiplyFewRows(const FewRowsProduct& product) {
  WithCode(product.panel.format, [&](auto code) { MultiplyAs<decltype(code)>(product); });
}

int64_t StreamedRows(int bits) {
  return bits == 4 && HWY_TARGET <= HWY_AVX3 ? 2 * kFewRows : kFewRows;
}

void Dequantize(const NBitPanel& panel, int64_t begin, int64_t end, float* to) {
  WithCode(panel.format, [&](auto code) {
    using C = decltype(code);
    if constexpr (kLooksUp<C>) {
      DequantizeByLookup<C>(panel, begin, end, to);
    } else {
      DequantizeAs<C>(panel, begin, end, to);
    }
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(MultiplyFewRows);
HWY_EXPORT(Dequantize);
HWY_EXPORT(StreamedRows);

void MultiplyFewRows(const FewRowsProduct& product) {
  HWY_DYNAMIC_DISPATCH(MultiplyFewRows)(product);
}
int64_t StreamedRows(int bits) { return HWY_DYNAMIC_DISPATCH(StreamedRows)(bits); }
void Dequantize(const NBitPanel& panel, int64_t begin, int64_t end, float* to) {
  HWY_DYNAMIC_DISPATCH(Dequantize)(panel, begin, end, to);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
