#include "ops/matmul/micro_kernel.h"

#include <array>
#include <cmath>
#include <utility>

#include "hwy/cache_control.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/micro_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/matmul/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

// The shapes of tiles, in rows and vectors: large enough to keep both multipliers busy through
// their latency, small enough for accumulators, a row of B and a factor to fit the registers (32
// with AVX-512, else 16). A panel is three vectors wide; few rows take two panels at once.
constexpr int kNarrow = 3;
constexpr int kWide = 6;
// Rows of B that are prefetched ahead while a panel comes from memory.
constexpr int kAhead = 16;
// Steps between two updates of the pointers, which else would take a slot from the multipliers.
constexpr int kUnroll = 4;
constexpr int kNarrowRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
constexpr int kWideRows = HWY_TARGET <= HWY_AVX3 ? 4 : 1;

// The accumulators of R rows and V vectors of C. kMasked: the last vector of B ends early and must
// not be read beyond. It is a parameter since AVX2 has no register to spare for the mask.
template <int R, int V, bool kMasked>
struct Tile {
  HWY_ATTR HWY_INLINE Tile() {
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(6)
      for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(Floats());
    }
  }

  // sum += column of A times row of B, whose last vector has `last` columns.
  HWY_ATTR HWY_INLINE void Step(const float* HWY_RESTRICT a, int64_t lda,
                                const float* HWY_RESTRICT b, int64_t panel_stride, size_t last) {
    const Floats d;
    Vector row[V];
    HWY_UNROLL(6)
    for (int v = 0; v < V; ++v) {
      const float* from = b + v / kNarrow * panel_stride + v % kNarrow * hn::Lanes(d);
      row[v] =
          kMasked && v + 1 == V ? hn::MaskedLoad(hn::FirstN(d, last), d, from) : hn::LoadU(d, from);
    }
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const Vector factor = hn::Set(d, a[r * lda]);
      HWY_UNROLL(6)
      for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
    }
  }

  HWY_ATTR HWY_INLINE void Finish(const PanelProduct& p, float* HWY_RESTRICT c) const {
    const Floats d;
    const Vector scale = hn::Set(d, p.scale);
    HWY_UNROLL(6)
    for (int v = 0; v < V; ++v) {
      const size_t at = v * hn::Lanes(d);
      const auto keep = hn::FirstN(d, p.columns - at);
      const Vector bias = p.bias == nullptr ? hn::Zero(d) : hn::MaskedLoad(keep, d, p.bias + at);
      HWY_UNROLL(8)
      for (int r = 0; r < R; ++r) {
        float* out = c + r * p.ldc + at;
        Vector value = sum[r][v];
        if (p.accumulate) value = hn::Add(value, hn::MaskedLoad(keep, d, out));
        hn::BlendedStore(hn::MulAdd(value, scale, bias), keep, d, out);
      }
    }
  }

  Vector sum[R][V];
};

// Rows [kAhead, kAhead + kUnroll) from `b` on, V vectors wide.
template <int V>
HWY_ATTR HWY_INLINE void PrefetchB(const PanelProduct& p, const float* b) {
  for (int u = kAhead; u < kAhead + kUnroll; ++u) {
    for (int v = 0; v < V; ++v) {
      const auto column = static_cast<int64_t>(v % kNarrow * hn::Lanes(Floats()));
      hwy::Prefetch(b + u * p.ldb + v / kNarrow * p.panel_stride + column);
    }
  }
}

// `first`: these are the first rows that meet the panel, which they fetch from memory.
template <int R, int V, bool kMasked>
HWY_ATTR HWY_NOINLINE void MultiplyTile(const PanelProduct& p, const float* HWY_RESTRICT a,
                                        float* HWY_RESTRICT c, bool first) {
  Tile<R, V, kMasked> tile;
  const size_t last = p.columns - (V - 1) * hn::Lanes(Floats());
  // On its way from memory well before it is written: far rows are on pages of their own.
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < V; ++v) hwy::Prefetch(c + r * p.ldc + v * hn::Lanes(Floats()));
  }
  const float* b = p.b;
  const auto step = [&](int count) HWY_ATTR {
    HWY_UNROLL(4)
    for (int u = 0; u < count; ++u) tile.Step(a + u, p.lda, b + u * p.ldb, p.panel_stride, last);
    a += count;
    b += count * p.ldb;
  };
  int64_t left = p.k;
  // Some hundred cycles ahead; the hardware's own prefetch stops at every page. For the rows that
  // follow the panel is in cache, and prefetches would only compete with loads.
  for (; first && left >= kUnroll; left -= kUnroll) {
    PrefetchB<V>(p, b);
    step(kUnroll);
  }
  for (; left >= kUnroll; left -= kUnroll) step(kUnroll);
  for (; left > 0; --left) step(1);
  tile.Finish(p, c);
  // The tile is in the first-level cache. Not inlined: there are dozens of tiles.
  if (p.activation != Activation::kNone) ActivateTile(p.activation, {c, p.ldc, R, p.columns});
}

using TileFunction = void (*)(const PanelProduct&, const float* HWY_RESTRICT, float* HWY_RESTRICT,
                              bool);

// MultiplyTile<1, V, kMasked> and so on to the tallest tile of that width.
template <int V, bool kMasked, int... kLess>
constexpr auto TilesOf(std::integer_sequence<int, kLess...>) {
  return std::array<TileFunction, kNarrowRows>{MultiplyTile<kLess + 1, V, kMasked>...};
}
template <int V>
constexpr std::array<std::array<TileFunction, kNarrowRows>, 2> kTilesOf = {
    TilesOf<V, false>(std::make_integer_sequence<int, V <= kNarrow ? kNarrowRows : kWideRows>()),
    TilesOf<V, true>(std::make_integer_sequence<int, V <= kNarrow ? kNarrowRows : kWideRows>())};
constexpr std::array<std::array<std::array<TileFunction, kNarrowRows>, 2>, kWide> kTiles = {
    kTilesOf<1>, kTilesOf<2>, kTilesOf<3>, kTilesOf<4>, kTilesOf<5>, kTilesOf<6>};

// All rows by at most kWide vectors. Rows are dealt out evenly, since a tile of one or two rows
// cannot keep the multipliers busy.
void MultiplyRows(const PanelProduct& p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  const int64_t vectors = hwy::DivCeil(p.columns, lanes);
  const auto& tiles = kTiles[vectors - 1][!p.padded && p.columns % lanes != 0];
  int64_t left = hwy::DivCeil<int64_t>(p.rows, vectors <= kNarrow ? kNarrowRows : kWideRows);
  for (int64_t row = 0; row < p.rows; --left) {
    const int64_t rows = (p.rows - row) / left;
    tiles[rows - 1](p, p.a + row * p.lda, p.c + row * p.ldc, row == 0);
    row += rows;
  }
}

void AddResidual(const PanelProduct& p, const TileResidual& residual) {
  if (residual.data == nullptr) return;
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vector scale = hn::Set(d, residual.scale);
  for (int64_t row = 0; row < p.rows; ++row) {
    const float* from = residual.data + row * residual.row_stride;
    float* out = p.c + row * p.ldc;
    if (residual.column_stride > 1) {
      for (int64_t j = 0; j < p.columns; ++j) {
        out[j] = std::fma(residual.scale, from[j * residual.column_stride], out[j]);
      }
      continue;
    }
    for (int64_t j = 0; j < p.columns; j += lanes) {
      const auto keep = hn::FirstN(d, p.columns - j);
      const Vector addend =
          residual.column_stride == 0 ? hn::Set(d, *from) : hn::MaskedLoad(keep, d, from + j);
      hn::BlendedStore(hn::MulAdd(addend, scale, hn::MaskedLoad(keep, d, out + j)), keep, d,
                       out + j);
    }
  }
}

// Of a few rows, so that they are still in the first-level cache for each next step.
void FinishRows(const PanelProduct& p, const TileResidual& residual) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vector scale = hn::Set(d, p.scale);
  const bool changes = p.scale != 1 || p.bias != nullptr;
  for (int64_t column = 0; changes && column < p.columns; column += lanes) {
    const auto keep = hn::FirstN(d, p.columns - column);
    const Vector bias = p.bias == nullptr ? hn::Zero(d) : hn::MaskedLoad(keep, d, p.bias + column);
    for (int64_t row = 0; row < p.rows; ++row) {
      float* out = p.c + row * p.ldc + column;
      hn::BlendedStore(hn::MulAdd(hn::MaskedLoad(keep, d, out), scale, bias), keep, d, out);
    }
  }
  if (p.activation != Activation::kNone) {
    ActivateTile(p.activation, {p.c, p.ldc, p.rows, p.columns});
  }
  // Qualified, since the exported one is found, too, by its arguments.
  HWY_NAMESPACE::AddResidual(p, residual);
}

void FinishTile(const PanelProduct& p, const TileResidual& residual) {
  constexpr int64_t kRows = 16;
  PanelProduct part = p;
  TileResidual addend = residual;
  for (int64_t row = 0; row < p.rows; row += kRows) {
    part.rows = HWY_MIN(kRows, p.rows - row);
    FinishRows(part, addend);
    part.c += kRows * p.ldc;
    if (addend.data != nullptr) addend.data += kRows * addend.row_stride;
  }
}

int64_t PanelWidth() { return kNarrow * static_cast<int64_t>(hn::Lanes(Floats())); }

void MultiplyPanels(const PanelProduct& p) {
  const int64_t width = PanelWidth();
  if (p.rows <= kWideRows || p.columns <= width) return MultiplyRows(p);
  PanelProduct half = p;
  half.columns = width;
  MultiplyRows(half);
  half.columns = p.columns - width;
  half.b += p.panel_stride;
  half.c += width;
  if (p.bias != nullptr) half.bias += width;
  MultiplyRows(half);
}

}  // namespace attnrun::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun {

HWY_EXPORT(MultiplyPanels);
HWY_EXPORT(AddResidual);
HWY_EXPORT(FinishTile);
HWY_EXPORT(PanelWidth);

void MultiplyPanels(const PanelProduct& product) { HWY_DYNAMIC_DISPATCH(MultiplyPanels)(product); }
void AddResidual(const PanelProduct& product, const TileResidual& residual) {
  HWY_DYNAMIC_DISPATCH(AddResidual)(product, residual);
}
void FinishTile(const PanelProduct& product, const TileResidual& residual) {
  HWY_DYNAMIC_DISPATCH(FinishTile)(product, residual);
}
int64_t PanelWidth() { return HWY_DYNAMIC_DISPATCH(PanelWidth)(); }

}  // namespace attnrun
#endif  // HWY_ONCE
