#include "ops/integer/integer_kernel.h"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/integer/integer_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/matmul/activation-inl.h"
#include "ops/matmul/even_parts.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Sums = hn::ScalableTag<int32_t>;
using Pairs = hn::Repartition<int16_t, Sums>;
using Bytes = hn::Rebind<int8_t, Pairs>;
using Floats = hn::ScalableTag<float>;
using SumVector = hn::Vec<Sums>;

// A tile's vectors and its most rows: accumulators, a row of B, a factor and a product that is
// about to be added fit the registers (32 with AVX-512, else 16). Pairs of int16 are multiplied and
// added up by one instruction, added to the sum by another: two for what takes floats four.
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
constexpr int kRows = 6;
constexpr int kUnroll = 4;

int64_t IntegerPanelWidth() { return kVectors * static_cast<int64_t>(hn::Lanes(Sums())); }

// sum += v. GCC's own way adds up the products of several steps before it adds them to the sum, and
// that in another register: then registers do not suffice.
HWY_INLINE void AddTo(SumVector& sum, SumVector v) {
#if HWY_TARGET <= HWY_AVX2
  asm("vpaddd %1, %0, %0" : "+v"(sum.raw) : "v"(v.raw));
#else
  sum = hn::Add(sum, v);
#endif
}
// As in the tile of floats.
HWY_INLINE void StaysInRegister(hn::Vec<Pairs> v) { asm volatile("" : : "v"(v.raw)); }

// Which lanes of the vector that begins at column `at` are columns of C.
template <class D>
HWY_INLINE hn::Mask<D> Columns(D d, const IntegerProduct& p, size_t at) {
  const auto columns = static_cast<size_t>(p.columns);
  return hn::FirstN(d, at < columns ? columns - at : 0);
}

template <int R>
struct IntegerTile {
  HWY_ATTR HWY_INLINE void Clear() {
    HWY_UNROLL(6)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(Sums());
    }
  }

  // sum += two columns of A times two rows of B.
  HWY_ATTR HWY_INLINE void Step(const int16_t* HWY_RESTRICT a, int64_t lda,
                                const int8_t* HWY_RESTRICT b) {
    const Sums d;
    const Pairs pairs;
    hn::Vec<Pairs> row[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      row[v] = hn::PromoteTo(pairs, hn::LoadU(Bytes(), b + v * hn::Lanes(pairs)));
    }
    HWY_UNROLL(6)
    for (int r = 0; r < R; ++r) {
      int32_t pair;
      std::memcpy(&pair, a + r * lda, sizeof(pair));
      const hn::Vec<Pairs> factor = hn::BitCast(pairs, hn::Set(d, pair));
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        AddTo(sum[r][v], hn::WidenMulPairwiseAdd(d, factor, row[v]));
      }
      StaysInRegister(factor);
    }
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) StaysInRegister(row[v]);
  }

  HWY_ATTR HWY_INLINE void AddOffsets(const IntegerProduct& p, const int32_t* row_sums) {
    const Sums d;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const size_t at = v * hn::Lanes(d);
      const auto keep = Columns(d, p, at);
      const SumVector offset = hn::MaskedLoad(keep, d, p.offsets + at);
      HWY_UNROLL(6)
      for (int r = 0; r < R; ++r) {
        sum[r][v] = hn::Add(sum[r][v], hn::Mul(offset, hn::Set(d, row_sums[r])));
      }
    }
  }

  HWY_ATTR HWY_INLINE void Store(const IntegerProduct& p, int32_t* HWY_RESTRICT c) const {
    const Sums d;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const size_t at = v * hn::Lanes(d);
      const auto keep = Columns(d, p, at);
      HWY_UNROLL(6)
      for (int r = 0; r < R; ++r) hn::BlendedStore(sum[r][v], keep, d, c + r * p.ldc + at);
    }
  }

  // C = sum * scales + bias.
  HWY_ATTR HWY_INLINE void StoreScaled(const IntegerProduct& p, float* HWY_RESTRICT c) const {
    const Floats d;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const size_t at = v * hn::Lanes(d);
      const auto keep = Columns(d, p, at);
      const auto scale = hn::MaskedLoad(keep, d, p.scales + at);
      const auto bias = p.bias == nullptr ? hn::Zero(d) : hn::MaskedLoad(keep, d, p.bias + at);
      HWY_UNROLL(6)
      for (int r = 0; r < R; ++r) {
        const auto y = hn::MulAdd(hn::ConvertTo(d, sum[r][v]), scale, bias);
        hn::BlendedStore(y, keep, d, c + r * p.ldc + at);
      }
    }
  }

  SumVector sum[R][kVectors];
};

// C += the residual, of some rows from `row` on.
HWY_NOINLINE void AddTileResidual(const IntegerProduct& p, int64_t row, int64_t rows) {
  const TileResidual& residual = p.residual;
  for (int64_t i = row; i < row + rows; ++i) {
    const float* from = residual.data + i * residual.row_stride;
    float* c = p.c + i * p.ldc;
    for (int64_t j = 0; j < p.columns; ++j) {
      c[j] = std::fma(residual.scale, from[j * residual.column_stride], c[j]);
    }
  }
}

// Rows [row, row + R).
template <int R>
HWY_ATTR HWY_NOINLINE void MultiplyTile(const IntegerProduct& p, int64_t row) {
  IntegerTile<R> tile;
  tile.Clear();
  const int16_t* a = p.a + row * p.lda;
  const int8_t* b = p.b;
  const int64_t step = 2 * IntegerPanelWidth();
  int64_t left = p.pairs;
  for (; left >= kUnroll; left -= kUnroll) {
    HWY_UNROLL(4)
    for (int u = 0; u < kUnroll; ++u) tile.Step(a + 2 * u, p.lda, b + u * step);
    a += 2 * kUnroll;
    b += kUnroll * step;
  }
  for (; left > 0; --left, a += 2, b += step) tile.Step(a, p.lda, b);
  if (p.offsets != nullptr) tile.AddOffsets(p, p.row_sums + row);
  if (p.sums != nullptr) return tile.Store(p, p.sums + row * p.ldc);
  float* const c = p.c + row * p.ldc;
  tile.StoreScaled(p, c);
  if (p.activation != Activation::kNone) ActivateTile(p.activation, {c, p.ldc, R, p.columns});
  if (p.residual.data != nullptr) AddTileResidual(p, row, R);
}

using TileFunction = void (*)(const IntegerProduct&, int64_t);

template <int... kLess>
constexpr std::array<TileFunction, kRows> TilesOf(std::integer_sequence<int, kLess...>) {
  return {MultiplyTile<kLess + 1>...};
}
constexpr std::array<TileFunction, kRows> kTiles =
    TilesOf(std::make_integer_sequence<int, kRows>());

void MultiplyIntegers(const IntegerProduct& p) {
  const int64_t count = hwy::DivCeil<int64_t>(p.rows, kRows);
  if (count == 0) return;
  const EvenParts rows(p.rows, count);
  for (int64_t i = 0; i < count; ++i) kTiles[rows[i] - 1](p, rows.Begin(i));
}

int32_t CentreIntegers(const void* in, bool is_signed, int32_t zero, int64_t count, int16_t* out) {
  const Pairs d;
  const Sums sums;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto zeros = hn::Set(d, static_cast<int16_t>(zero));
  const auto ones = hn::Set(d, int16_t{1});
  const auto* const bytes = static_cast<const uint8_t*>(in);
  SumVector sum = hn::Zero(sums);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto from = hn::LoadU(hn::Rebind<uint8_t, Pairs>(), bytes + i);
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

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun {

HWY_EXPORT(MultiplyIntegers);
HWY_EXPORT(IntegerPanelWidth);
HWY_EXPORT(CentreIntegers);

void MultiplyIntegers(const IntegerProduct& product) {
  HWY_DYNAMIC_DISPATCH(MultiplyIntegers)(product);
}
int64_t IntegerPanelWidth() { return HWY_DYNAMIC_DISPATCH(IntegerPanelWidth)(); }
int32_t CentreIntegers(const void* in, bool is_signed, int32_t zero, int64_t count, int16_t* out) {
  return HWY_DYNAMIC_DISPATCH(CentreIntegers)(in, is_signed, zero, count, out);
}

}  // namespace attnrun
#endif  // HWY_ONCE
