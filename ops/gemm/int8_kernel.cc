// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/int8_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/activation-inl.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/unroll.h"
#include "ops/gemm/vnni-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Sums = hn::ScalableTag<int32_t>;
using Int16s = hn::Repartition<int16_t, Sums>;
using Int8s = hn::Repartition<int8_t, Sums>;
using Bytes = hn::Rebind<int8_t, Int16s>;
using Floats = hn::ScalableTag<float>;
using SumVector = hn::Vec<Sums>;

// The vectors of a tile and its greatest number of rows: accumulators, a row of B, a factor and a
// product that is about to be added fit the registers (32 with AVX-512, else 16); for int8x4 a
// vector of ones as well. For int16x2, one instruction multiplies pairs of int16 and adds them up,
// and another adds that to the sum: two instructions for two numbers, as in float. For int8x4 it
// takes three instructions for four numbers.
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
constexpr int kInt16x2Rows = 6;
constexpr int kInt8x4Rows = HWY_TARGET <= HWY_AVX3 ? 6 : 5;
constexpr int kUnroll = 4;
constexpr int64_t kWidth = kVectors * static_cast<int64_t>(hn::Lanes(Sums()));

int64_t VectorPanelWidth() { return kWidth; }

// sum += v. Left to itself, GCC adds up the products of several steps before it adds them to the
// sum, which takes another register, of which there are none left.
HWY_INLINE void AddTo(SumVector& sum, SumVector v) {
#if HWY_TARGET <= HWY_AVX2
  asm("vpaddd %1, %0, %0" : "+v"(sum.raw) : "v"(v.raw));
#else
  sum = hn::Add(sum, v);
#endif
}
// See tile-inl.h.
template <class V>
HWY_INLINE void StaysInRegister(V v) {
  asm volatile("" : : "v"(v.raw));
}

// The lanes of the vector at column `at` that are columns of C.
template <class D>
HWY_INLINE hn::Mask<D> Columns(D d, const Int8Product& p, size_t at) {
  const auto columns = static_cast<size_t>(p.columns);
  return hn::FirstN(d, at < columns ? columns - at : 0);
}

template <int R>
struct Int8Tile {
  HWY_ATTR HWY_INLINE void Clear() {
    ATTNRUN_UNROLL(6)
    for (int r = 0; r < R; ++r) {
      ATTNRUN_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(Sums());
    }
  }

  // The 32 bits of one row of A for a step, in all lanes.
  HWY_ATTR HWY_INLINE static SumVector Factor(const uint8_t* HWY_RESTRICT a) {
    int32_t bits;
    std::memcpy(&bits, a, sizeof(bits));
    return hn::Set(Sums(), bits);
  }

  // sum += two columns of A times two rows of B.
  HWY_ATTR HWY_INLINE void StepInt16x2(const uint8_t* HWY_RESTRICT a, int64_t lda,
                                       const int8_t* HWY_RESTRICT b) {
    const Int16s int16s;
    hn::Vec<Int16s> row[kVectors];
    ATTNRUN_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      row[v] = hn::PromoteTo(int16s, hn::LoadU(Bytes(), b + v * hn::Lanes(int16s)));
    }
    ATTNRUN_UNROLL(6)
    for (int r = 0; r < R; ++r) {
      const hn::Vec<Int16s> factor = hn::BitCast(int16s, Factor(a + r * lda));
      ATTNRUN_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        AddTo(sum[r][v], hn::WidenMulPairwiseAdd(Sums(), factor, row[v]));
      }
      StaysInRegister(factor);
    }
    ATTNRUN_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) StaysInRegister(row[v]);
  }

  // sum += four columns of A times four rows of B.
  HWY_ATTR HWY_INLINE void StepInt8x4(const uint8_t* HWY_RESTRICT a, int64_t lda,
                                      const int8_t* HWY_RESTRICT b, hn::Vec<Int16s> ones) {
    const Int8s int8s;
    hn::Vec<Int8s> row[kVectors];
    ATTNRUN_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(int8s, b + v * hn::Lanes(int8s));
    ATTNRUN_UNROLL(6)
    for (int r = 0; r < R; ++r) {
      const auto factor = hn::BitCast(hn::Repartition<uint8_t, Sums>(), Factor(a + r * lda));
      ATTNRUN_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const hn::Vec<Int16s> products = hn::SatWidenMulPairwiseAdd(Int16s(), factor, row[v]);
        AddTo(sum[r][v], hn::WidenMulPairwiseAdd(Sums(), products, ones));
      }
      StaysInRegister(factor);
    }
    ATTNRUN_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) StaysInRegister(row[v]);
  }

  // As StepInt8x4, where one instruction multiplies and adds without saturation.
  HWY_ATTR HWY_INLINE void StepVnni(const uint8_t* HWY_RESTRICT a, int64_t lda,
                                    const int8_t* HWY_RESTRICT b) {
    const Int8s int8s;
    hn::Vec<Int8s> row[kVectors];
    ATTNRUN_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(int8s, b + v * hn::Lanes(int8s));
    ATTNRUN_UNROLL(6)
    for (int r = 0; r < R; ++r) {
      const SumVector factor = Factor(a + r * lda);
      ATTNRUN_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) AddVnni(sum[r][v], factor, row[v]);
    }
  }

  // sum += a step of four bytes of each row of A.
  template <Int8Layout kLayout>
  HWY_ATTR HWY_INLINE void Step(const uint8_t* HWY_RESTRICT a, int64_t lda,
                                const int8_t* HWY_RESTRICT b, hn::Vec<Int16s> ones) {
    if constexpr (kLayout == Int8Layout::kInt16x2) {
      StepInt16x2(a, lda, b);
    } else if constexpr (kLayout == Int8Layout::kVnni) {
      StepVnni(a, lda, b);
    } else {
      StepInt8x4(a, lda, b, ones);
    }
  }

  // sum += row_terms times column_terms.
  HWY_ATTR HWY_INLINE void AddTerm(const Int8Product& p, const int32_t* row_terms,
                                   const int32_t* column_terms) {
    const Sums d;
    ATTNRUN_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const size_t at = v * hn::Lanes(d);
      const SumVector term = hn::MaskedLoad(Columns(d, p, at), d, column_terms + at);
      ATTNRUN_UNROLL(6)
      for (int r = 0; r < R; ++r) {
        sum[r][v] = hn::Add(sum[r][v], hn::Mul(term, hn::Set(d, row_terms[r])));
      }
    }
  }

  // sum += A times the saturation corrections of B.
  HWY_ATTR HWY_NOINLINE void AddCorrections(const Int8Product& p, const uint8_t* a) {
    const Sums d;
    HWY_ALIGN int32_t more[R][kVectors * hn::MaxLanes(Sums())] = {};
    for (const SaturationCorrection& correction : p.corrections) {
      for (int r = 0; r < R; ++r)
        more[r][correction.column] += a[r * p.lda + correction.row] * correction.value;
    }
    ATTNRUN_UNROLL(6)
    for (int r = 0; r < R; ++r) {
      ATTNRUN_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::Add(sum[r][v], hn::Load(d, more[r] + v * hn::Lanes(d)));
      }
    }
  }

  HWY_ATTR HWY_INLINE void Store(const Int8Product& p, int32_t* HWY_RESTRICT c) const {
    const Sums d;
    ATTNRUN_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const size_t at = v * hn::Lanes(d);
      const auto keep = Columns(d, p, at);
      ATTNRUN_UNROLL(6)
      for (int r = 0; r < R; ++r) hn::BlendedStore(sum[r][v], keep, d, c + r * p.ldc + at);
    }
  }

  // C = sum * (row_scales * scales) + bias.
  HWY_ATTR HWY_INLINE void StoreScaled(const Int8Product& p, const float* row_scales,
                                       float* HWY_RESTRICT c) const {
    const Floats d;
    ATTNRUN_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const size_t at = v * hn::Lanes(d);
      const auto keep = Columns(d, p, at);
      const auto scale = hn::MaskedLoad(keep, d, p.scales + at);
      const auto bias = p.bias == nullptr ? hn::Zero(d) : hn::MaskedLoad(keep, d, p.bias + at);
      ATTNRUN_UNROLL(6)
      for (int r = 0; r < R; ++r) {
        const auto factor =
            row_scales == nullptr ? scale : hn::Mul(scale, hn::Set(d, row_scales[r]));
        const auto y = hn::MulAdd(hn::ConvertTo(d, sum[r][v]), factor, bias);
        hn::BlendedStore(y, keep, d, c + r * p.ldc + at);
      }
    }
  }

  SumVector sum[R][kVectors];
};

// Adds the residual to rows [row, row + rows) of C.
HWY_NOINLINE void AddTileResidual(const Int8Product& p, int64_t row, int64_t rows) {
  const Floats d;
  const TileResidual& residual = p.residual;
  const auto scale = hn::Set(d, residual.scale);
  for (int64_t i = row; i < row + rows; ++i) {
    const float* const from = residual.data + i * residual.row_stride;
    float* const c = p.c + i * p.ldc;
    if (residual.column_stride > 1) {
      for (int64_t j = 0; j < p.columns; ++j) {
        c[j] = std::fma(residual.scale, from[j * residual.column_stride], c[j]);
      }
      continue;
    }
    for (int v = 0; v < kVectors; ++v) {
      const size_t at = v * hn::Lanes(d);
      const auto keep = Columns(d, p, at);
      const auto addend =
          residual.column_stride == 0 ? hn::Set(d, *from) : hn::MaskedLoad(keep, d, from + at);
      const auto sum = hn::MulAdd(addend, scale, hn::MaskedLoad(keep, d, c + at));
      hn::BlendedStore(sum, keep, d, c + at);
    }
  }
}

// The cache lines of the memory to prefetch, from `line` on, of which a tile takes `lines` with
// every kUnroll steps.
struct Prefetch {
  const int8_t* line;
  int64_t lines;
};

constexpr int64_t kLine = 64;

// Adds all steps of a product to the tile.
template <Int8Layout kLayout, int R>
HWY_ATTR HWY_INLINE void SumSteps(Int8Tile<R>& tile, const Int8Product& p, const uint8_t* a,
                                  Prefetch next) {
  const auto ones = hn::Set(Int16s(), int16_t{1});
  const int8_t* b = p.b;
  const int64_t step = RowsPerStep(kLayout) * kWidth;
  int64_t left = p.steps;
  for (; left >= kUnroll; left -= kUnroll, a += 4 * kUnroll, b += kUnroll * step) {
    for (int64_t i = 0; i < next.lines; ++i, next.line += kLine) {
      // Into the second-level cache: the panel in use needs the first.
      __builtin_prefetch(next.line, 0, 2);
    }
    ATTNRUN_UNROLL(4)
    for (int u = 0; u < kUnroll; ++u) {
      tile.template Step<kLayout>(a + 4 * u, p.lda, b + u * step, ones);
    }
  }
  for (; left > 0; --left, a += 4, b += step) tile.template Step<kLayout>(a, p.lda, b, ones);
}

// Computes rows [row, row + R) of C.
template <int R, Int8Layout kLayout>
HWY_ATTR HWY_NOINLINE void MultiplyTile(const Int8Product& p, int64_t row, Prefetch next) {
  Int8Tile<R> tile;
  tile.Clear();
  const uint8_t* const a = p.a + row * p.lda;
  SumSteps<kLayout>(tile, p, a, next);
  if (!p.corrections.empty()) tile.AddCorrections(p, a);
  for (int i = 0; i < 2; ++i) {
    if (p.row_terms[i] != nullptr) tile.AddTerm(p, p.row_terms[i] + row, p.column_terms[i]);
  }
  if (p.sums != nullptr) return tile.Store(p, p.sums + row * p.ldc);
  float* const c = p.c + row * p.ldc;
  tile.StoreScaled(p, p.row_scales == nullptr ? nullptr : p.row_scales + row, c);
  if (p.activation) ActivateTile(p.activation, {c, p.ldc, R, p.columns});
  if (p.residual.data != nullptr) AddTileResidual(p, row, R);
}

using TileFunction = void (*)(const Int8Product&, int64_t, Prefetch);

template <Int8Layout kLayout, int... kLess>
constexpr auto TilesOf(std::integer_sequence<int, kLess...>) {
  return std::array<TileFunction, sizeof...(kLess)>{MultiplyTile<kLess + 1, kLayout>...};
}

template <size_t kMost>
void MultiplyRows(const Int8Product& p, const std::array<TileFunction, kMost>& tiles) {
  const int64_t count = hwy::DivCeil<int64_t>(p.rows, kMost);
  if (count == 0) return;
  const EvenParts rows(p.rows, count);
  const int64_t times = std::max<int64_t>(p.steps / kUnroll, 1);
  const int64_t lines = hwy::DivCeil<int64_t>(p.next_bytes, kLine * times * count);
  const int64_t bytes_of_tile = kLine * lines * times;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = i * bytes_of_tile;
    const Prefetch next = {p.next + begin, begin < p.next_bytes ? lines : 0};
    tiles[rows[i] - 1](p, rows.Begin(i), next);
  }
}

void MultiplyInt8(const Int8Product& p) {
  static constexpr auto kInt16x2Tiles =
      TilesOf<Int8Layout::kInt16x2>(std::make_integer_sequence<int, kInt16x2Rows>());
  static constexpr auto kInt8x4Tiles =
      TilesOf<Int8Layout::kInt8x4>(std::make_integer_sequence<int, kInt8x4Rows>());
  static constexpr auto kVnniTiles =
      TilesOf<Int8Layout::kVnni>(std::make_integer_sequence<int, kInt16x2Rows>());
  if (p.layout == Int8Layout::kInt16x2) {
    MultiplyRows(p, kInt16x2Tiles);
  } else if (p.layout == Int8Layout::kVnni) {
    MultiplyRows(p, kVnniTiles);
  } else {
    MultiplyRows(p, kInt8x4Tiles);
  }
}

int32_t SubtractZeroPoint(const void* in, bool is_signed, int32_t zero, int64_t count,
                          int16_t* out) {
  const Int16s d;
  const Sums sums;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto zeros = hn::Set(d, static_cast<int16_t>(zero));
  const auto ones = hn::Set(d, int16_t{1});
  const auto* const bytes = static_cast<const uint8_t*>(in);
  SumVector sum = hn::Zero(sums);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto from = hn::LoadU(hn::Rebind<uint8_t, Int16s>(), bytes + i);
    const auto value =
        is_signed ? hn::PromoteTo(d, hn::BitCast(Bytes(), from)) : hn::PromoteTo(d, from);
    const auto centred = hn::Sub(value, zeros);
    hn::StoreU(centred, d, out + i);
    sum = hn::Add(sum, hn::WidenMulPairwiseAdd(sums, centred, ones));
  }
  int32_t total = hn::ReduceSum(sums, sum);
  for (; i < count; ++i) {
    const int value = is_signed ? static_cast<const int8_t*>(in)[i] : bytes[i];
    out[i] = static_cast<int16_t>(value - zero);
    total += out[i];
  }
  return total;
}

int32_t ShiftToUint8(const void* in, bool is_signed, int64_t count, uint8_t* out) {
  const hn::ScalableTag<uint8_t> d;
  const hn::ScalableTag<uint64_t> sums;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* const bytes = static_cast<const uint8_t*>(in);
  const uint8_t flip = is_signed ? 128 : 0;
  auto sum = hn::Zero(sums);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::Xor(hn::LoadU(d, bytes + i), hn::Set(d, flip));
    hn::StoreU(value, d, out + i);
    sum = hn::Add(sum, hn::SumsOf8(value));
  }
  auto total = static_cast<uint32_t>(hn::ReduceSum(sums, sum));
  for (; i < count; ++i) {
    out[i] = bytes[i] ^ flip;
    total += out[i];
  }
  return static_cast<int32_t>(total);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "ops/gemm/amx.h"
#include "ops/tensors/cpu.h"

namespace attnrun::ops {

HWY_EXPORT(MultiplyInt8);
HWY_EXPORT(VectorPanelWidth);
HWY_EXPORT(SubtractZeroPoint);
HWY_EXPORT(ShiftToUint8);

void MultiplyInt8(const Int8Product& product) { HWY_DYNAMIC_DISPATCH(MultiplyInt8)(product); }
int64_t Int8PanelWidth(Int8Layout layout) {
  return layout == Int8Layout::kAmx ? kAmxPanelWidth : HWY_DYNAMIC_DISPATCH(VectorPanelWidth)();
}
Int8Layout BestInt8Layout() {
  if (ThisCpu().amx_int8) return Int8Layout::kAmx;
  return ThisCpu().vnni ? Int8Layout::kVnni : Int8Layout::kInt8x4;
}
int32_t SubtractZeroPoint(const void* in, bool is_signed, int32_t zero, int64_t count,
                          int16_t* out) {
  return HWY_DYNAMIC_DISPATCH(SubtractZeroPoint)(in, is_signed, zero, count, out);
}
int32_t ShiftToUint8(const void* in, bool is_signed, int64_t count, uint8_t* out) {
  return HWY_DYNAMIC_DISPATCH(ShiftToUint8)(in, is_signed, count, out);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
