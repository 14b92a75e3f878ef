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

// The product of R rows and P panels, one block of the weight at a time.
template <class C, int R, int P>
struct FewRows {
  static constexpr int kVectors = P * kNarrow;
  struct Sums {
    Vector v[R][kVectors];
  };

  HWY_ATTR HWY_INLINE FewRows(const FewRowsProduct& p, int64_t k) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
    width = kNarrow * lanes;
    lda = p.lda;
    panel_bytes = p.panel.format.panel_bytes;
    a = p.a + k;
    const Place place = Place::Of<C>(p.panel, width, k);
    words = place.words;
    ATTNRUN_UNROLL(6)
    for (int v = 0; v < kVectors; ++v) {
      const auto* const block =
          reinterpret_cast<const uint8_t*>(place.block) + v / kNarrow * panel_bytes;
      scaling.Read(v, reinterpret_cast<const float*>(block) + v % kNarrow * lanes, width);
    }
  }

  // Adds codes [first, first + count) of the words times as many columns of A.
  HWY_ATTR HWY_INLINE void AddCodes(Sums& sums, const uint8_t* from, const float* factors,
                                    int64_t stride, int64_t next_panel, const Vector* zero,
                                    int first, int count) const {
    const Floats d;
    const auto word_of = [&](int v) HWY_ATTR {
      return from + v / kNarrow * next_panel + v % kNarrow * hn::Lanes(d) * 4;
    };
    auto mask = Extraction<C>::MaskOf(first);
    ATTNRUN_UNROLL(16)
    for (int i = 0; i < count; ++i) {
      const Scaling<C, kVectors>* const scales = Opaque(&scaling);
      asm volatile("" : "+v"(mask.raw));
      if constexpr (R <= 2) {
        Vector factor[R];
        ATTNRUN_UNROLL(4)
        for (int r = 0; r < R; ++r) factor[r] = hn::Set(d, factors[r * stride + i]);
        ATTNRUN_UNROLL(6)
        for (int v = 0; v < kVectors; ++v) {
          const Vector weight = scales->At(word_of(v), first + i, v, mask, zero[v]);
          ATTNRUN_UNROLL(4)
          for (int r = 0; r < R; ++r) sums.v[r][v] = hn::MulAdd(factor[r], weight, sums.v[r][v]);
        }
      } else {
        // Registers are scarce: all weights first, so that one factor is needed at a time.
        Vector weight[kVectors];
        ATTNRUN_UNROLL(6)
        for (int v = 0; v < kVectors; ++v) {
          weight[v] = scales->At(word_of(v), first + i, v, mask, zero[v]);
        }
        ATTNRUN_UNROLL(4)
        for (int r = 0; r < R; ++r) {
          const Vector factor = hn::Set(d, factors[r * stride + i]);
          ATTNRUN_UNROLL(6)
          for (int v = 0; v < kVectors; ++v) {
            sums.v[r][v] = hn::MulAdd(factor, weight[v], sums.v[r][v]);
          }
          StaysInRegister(factor);
        }
      }
      mask = Extraction<C>::Following(mask, first + i);
    }
  }

  // Prefetches words of the panels that follow these P, which a row reads at the speed of memory. The
  // hardware's prefetcher begins anew with each pair of panels.
  HWY_INLINE void PrefetchNext(const uint8_t* from) const {
    constexpr int kSecondLevel = 2;
    constexpr int64_t kLine = 64;
    for (int panel = P; panel < 2 * P; ++panel) {
      for (int64_t i = 0; i < width * 4; i += kLine) {
        __builtin_prefetch(from + panel * panel_bytes + i, 0, kSecondLevel);
      }
    }
  }

  HWY_ATTR HWY_INLINE void AddWords(Sums& sums, int64_t count) {
    Sums local = sums;
    const uint8_t* from = words;
    const float* factors = a;
    const int64_t stride = lda;
    const int64_t next_panel = panel_bytes;
    const int64_t step = width * 4;
    Vector zero[kVectors];
    ATTNRUN_UNROLL(6)
    for (int v = 0; v < kVectors; ++v) zero[v] = scaling.zero[0][v];
    for (; count > 0; --count) {
      if constexpr (R == 1 && HWY_TARGET > HWY_AVX3) PrefetchNext(from);
      AddCodes(local, from, factors, stride, next_panel, zero, 0, C::kPerWord);
      from += step;
      factors += C::kPerWord;
    }
    words = from;
    a = factors;
    sums = local;
  }

  // Adds codes [first, first + count) of one word. Not inlined, so that it takes no registers from
  // the loop over whole words.
  HWY_ATTR HWY_NOINLINE void AddPart(Sums& sums, int first, int count) {
    AddCodes(sums, words, a, lda, panel_bytes, scaling.zero[0], first, count);
    words += width * 4;
    a += count;
  }

  int64_t width;
  int64_t lda;
  int64_t panel_bytes;
  const float* HWY_RESTRICT a;
  const uint8_t* HWY_RESTRICT words;
  Scaling<C, kVectors> scaling;
};

// Adds rows [begin, end) of K, split at blocks and words.
template <class C, int R, int P>
HWY_ATTR HWY_INLINE void AddRows(const FewRowsProduct& p, int64_t begin, int64_t end,
                                 typename FewRows<C, R, P>::Sums& sums) {
  const int64_t block = p.panel.format.block;
  for (int64_t k = begin; k < end;) {
    const int64_t until = std::min(end, Place::End(block, k));
    FewRows<C, R, P> rows(p, k);
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
template <class C, int R, int P>
HWY_ATTR HWY_NOINLINE void MultiplyRows(const FewRowsProduct& p) {
  constexpr int kVectors = P * kNarrow;
  const Floats d;
  const EvenParts depth(p.panel.format.rows, p.blocks);
  typename FewRows<C, R, P>::Sums total;
  for (int64_t part = 0; part < p.blocks; ++part) {
    typename FewRows<C, R, P>::Sums sums;
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < kVectors; ++v) sums.v[r][v] = hn::Zero(d);
    }
    AddRows<C, R, P>(p, depth.Begin(part), depth.Begin(part + 1), sums);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        total.v[r][v] = part == 0 ? sums.v[r][v] : hn::Add(sums.v[r][v], total.v[r][v]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const auto at = static_cast<int64_t>(v * hn::Lanes(d));
      const int64_t left = std::max<int64_t>(p.columns - at, 0);
      hn::StoreN(total.v[r][v], d, p.c + r * p.ldc + at, left);
    }
  }
}

template <class C, int R>
void MultiplyPanel(const FewRowsProduct& p) {
  if constexpr (kLooksUp<C>) {
    MultiplyByLookup<C, R>(p);
  } else {
    MultiplyRows<C, R, 1>(p);
  }
}

// Multiplies by two panels, one after the other.
template <class C, int R>
HWY_ATTR void MultiplyEach(const FewRowsProduct& p) {
  const int64_t width = kNarrow * static_cast<int64_t>(hn::Lanes(Floats()));
  FewRowsProduct one = p;
  one.columns = std::min(p.columns, width);
  MultiplyPanel<C, R>(one);
  if (p.panels == 1) return;
  one.panel.data += p.panel.format.panel_bytes;
  one.c += width;
  one.columns = p.columns - width;
  MultiplyPanel<C, R>(one);
}

template <class C>
void MultiplyAs(const FewRowsProduct& p) {
  if constexpr (!kLooksUp<C>) {
    // One row sums two panels at once: three sums would wait for each other.
    if (p.rows == 1 && p.panels == 2) return MultiplyRows<C, 1, 2>(p);
  }
  using Function = void (*)(const FewRowsProduct&);
  constexpr Function kByRows[kFewRows] = {MultiplyEach<C, 1>, MultiplyEach<C, 2>,
                                          MultiplyEach<C, 3>, MultiplyEach<C, 4>};
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
