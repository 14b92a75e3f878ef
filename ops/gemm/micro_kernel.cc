// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/micro_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "hwy/cache_control.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/micro_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/activation-inl.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/tile-inl.h"
#include "ops/gemm/unroll.h"

HWY_BEFORE_NAMESPACE();
// A tile fills the registers. GCC's default register allocation leaves some of the sums in memory,
// which the loop then waits for: 15 % of the time with AVX2.
#if HWY_COMPILER_GCC_ACTUAL
#pragma GCC push_options
#pragma GCC optimize("ira-algorithm=priority")
#endif
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The shapes of tiles, in rows and vectors: large enough to keep both multipliers busy through
// their latency, small enough for accumulators, a row of B and a factor to fit the registers (32
// with AVX-512, else 16). A product of few rows uses two panels at once.
constexpr int kWide = 6;
// Rows of B that are prefetched ahead while a panel comes from memory.
constexpr int kAhead = 16;
// Steps between two updates of the pointers, which would otherwise take instruction slots from the
// multipliers. AVX2's steps are half as long. With AVX-512, 8 steps save 5 % of the time of wide
// tiles with segments, but cost 1 % without. Under a sanitizer, which checks each load of each
// step, the compiler would take a quarter of an hour.
constexpr int UnrollOf(int vectors, Layout layout) {
  if (HWY_IS_ASAN || HWY_IS_TSAN) return 1;
  const bool wide = layout == Layout::kPanelAndSegments && vectors >= kNarrow;
  return HWY_TARGET <= HWY_AVX3 && !wide ? 4 : 8;
}
constexpr int kWideRows = HWY_TARGET <= HWY_AVX3 ? 4 : 1;
// The tallest tile of this many vectors.
constexpr int RowsOf(int vectors) {
  constexpr int kRows[] = {14, 14, 8, 6, kWideRows, kWideRows};
  constexpr int kRowsOnAvx2[] = {12, 6, 4, kWideRows, kWideRows, kWideRows};
  return (HWY_TARGET <= HWY_AVX3 ? kRows : kRowsOnAvx2)[vectors - 1];
}

// Prefetches `count` rows from row kAhead from `b` on, V vectors wide.
template <int V>
HWY_ATTR HWY_INLINE void PrefetchB(const PanelProduct& p, const float* b, int count) {
  for (int u = kAhead; u < kAhead + count; ++u) {
    for (int v = 0; v < V; ++v) {
      const auto column = static_cast<int64_t>(v % kNarrow * hn::Lanes(Floats()));
      hwy::Prefetch(b + u * p.ldb + v / kNarrow * p.panel_stride + column);
    }
  }
}

// Memory that a tile prefetches for the next product: `lines` cache lines every UnrollOf steps.
struct Ahead {
  HWY_INLINE void Prefetch() {
    for (int64_t i = lines; i > 0; --i, at += kLine) __builtin_prefetch(at, 0, kSecondLevel);
  }

  static constexpr int64_t kLine = 64;
  static constexpr int kSecondLevel = 2;
  const char* at;
  int64_t lines;
};

// The rows of C that a tile ends with, and those of the residual, if any.
struct TileEnd {
  float* HWY_RESTRICT c;
  const float* HWY_RESTRICT residual;
};

// Prefetches a TileEnd, one row every UnrollOf steps: well before it is used, since rows far apart
// are on pages of their own, and not all at once, since loads from the second-level cache would
// wait.
template <int V>
struct EndAhead {
  HWY_INLINE void Prefetch(const PanelProduct& p) {
    if (left == 0) return;
    for (int v = 0; v < V; ++v) hwy::Prefetch(at.c + v * hn::Lanes(Floats()));
    at.c += p.ldc;
    --left;
    if (at.residual == nullptr) return;
    for (int v = 0; v < V; ++v) hwy::Prefetch(at.residual + v * hn::Lanes(Floats()));
    at.residual += p.residual.row_stride;
  }

  TileEnd at;
  int64_t left;
};

// Sums a block of K. `a` and `b` point to its beginning, and to its end afterwards. `first`: these
// rows are the first to use the panel and fetch it from memory.
template <int R, int V, Layout kLayout>
HWY_ATTR HWY_INLINE void SumBlock(Tile<R, V, kLayout>& tile, const PanelProduct& p, Rows<R>& a,
                                  const float*& b, int64_t k, bool first, Ahead& ahead,
                                  EndAhead<V>& end) {
  const size_t last = p.columns - (V - 1) * hn::Lanes(Floats());
  const auto width = static_cast<int64_t>(kNarrow * hn::Lanes(Floats()));
  const int64_t ldb =
      kLayout == Layout::kPanel || kLayout == Layout::kPanelAndSegments ? width : p.ldb;
  constexpr int kUnroll = UnrollOf(V, kLayout);
  const auto step = [&](int count) HWY_ATTR {
    ATTNRUN_UNROLL(8)
    for (int u = 0; u < count; ++u) tile.Step(a, u, b + u * ldb, p.panel_stride, last);
    a.Advance(count);
    b += count * ldb;
  };
  int64_t left = k;
  // Prefetches some hundred cycles ahead, since the hardware's prefetcher stops at every page. For
  // later rows the panel is in cache, and prefetches would only compete with loads.
  for (; first && left >= kUnroll; left -= kUnroll) {
    PrefetchB<V>(p, b, kUnroll);
    end.Prefetch(p);
    step(kUnroll);
  }
  for (; left >= kUnroll; left -= kUnroll) {
    ahead.Prefetch();
    end.Prefetch(p);
    step(kUnroll);
  }
  for (; left > 0; --left) step(1);
}

// Adds a residual that a tile cannot add in registers: after an activation, or with other strides.
HWY_NOINLINE void AddResidual(const PanelProduct& p, TileEnd at, int64_t rows) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vector scale = hn::Set(d, p.residual.scale);
  for (; rows > 0; --rows, at.residual += p.residual.row_stride, at.c += p.ldc) {
    if (p.residual.column_stride > 1) {
      for (int64_t j = 0; j < p.columns; ++j) {
        at.c[j] = std::fma(p.residual.scale, at.residual[j * p.residual.column_stride], at.c[j]);
      }
      continue;
    }
    for (int64_t j = 0; j < p.columns; j += lanes) {
      const auto keep = hn::FirstN(d, p.columns - j);
      const Vector addend = p.residual.column_stride == 0
                                ? hn::Set(d, *at.residual)
                                : hn::MaskedLoad(keep, d, at.residual + j);
      hn::BlendedStore(hn::MulAdd(addend, scale, hn::MaskedLoad(keep, d, at.c + j)), keep, d,
                       at.c + j);
    }
  }
}

// The start of a column of tiles of equal height.
struct TileBegin {
  const float* HWY_RESTRICT a;
  TileEnd end;
  // True if the next tile is the first to use the panel.
  bool first;
  Ahead ahead;
  // The bytes that each tile prefetches.
  int64_t bytes_ahead;

  HWY_INLINE void Advance(const PanelProduct& p, int64_t rows) {
    a += rows * p.lda;
    end.c += rows * p.ldc;
    if (end.residual != nullptr) end.residual += rows * p.residual.row_stride;
    first = false;
    ahead.at += bytes_ahead;
  }
};

// Sums the segments of K, which are blocks, parts of a block, or cut into blocks. `sums`: space for
// the tile.
template <int R, int V, Layout kLayout>
HWY_ATTR HWY_INLINE void SumSegments(Tile<R, V, kLayout>& tile, const PanelProduct& p,
                                     const DepthParts& depth, const TileBegin& at, const float* b,
                                     Ahead& ahead, EndAhead<V>& end, float* HWY_RESTRICT sums) {
  Rows<R> rows(at.a, p.lda);
  const int64_t runs = p.segments * p.blocks;
  int64_t segment = 0;
  int64_t block = 0;
  for (int64_t begin = 0, run = 0; run < runs; begin = run) {
    tile.Clear();
    for (const int64_t stop = std::min(begin + p.segments_per_block, runs); run < stop; ++run) {
      if (block == 0) rows.PointAt(at.a + p.segment_offsets[segment]);
      SumBlock(tile, p, rows, b, depth[block], at.first, ahead, end);
      if (++block == p.blocks) block = 0, ++segment;
    }
    if (begin == 0 && p.accumulate) tile.AddC(p, at.end.c);
    if (begin > 0) tile.Add(sums);
    if (run < runs) tile.Put(sums);
  }
}

// Computes `tiles` tiles of R rows and V vectors, one below the other; afterwards `at` is the start
// of the next one.
template <int R, int V, Layout kLayout>
HWY_ATTR HWY_NOINLINE void MultiplyTiles(const PanelProduct& p, const DepthParts& depth,
                                         int64_t tiles, TileBegin& at) {
  const bool is_active = !Clamp(p.activation).is_all;
  const bool added = (!p.activation || p.residual_first) && p.residual.column_stride == 1;
  HWY_ALIGN float sums[R * V * hn::MaxLanes(Floats())];
  for (; tiles > 0; --tiles, at.Advance(p, R)) {
    EndAhead<V> end_ahead = {at.end, R};
    Ahead ahead = at.ahead;
    const float* b = p.b;
    Tile<R, V, kLayout> tile;
    if constexpr (kLayout == Layout::kPanelAndSegments) {
      SumSegments(tile, p, depth, at, b, ahead, end_ahead, sums);
    } else {
      Rows<R> rows(at.a, p.lda);
      for (int64_t block = 0; block < p.blocks; ++block) {
        tile.Clear();
        SumBlock(tile, p, rows, b, depth[block], at.first, ahead, end_ahead);
        if (block == 0 && p.accumulate) tile.AddC(p, at.end.c);
        if (block > 0) tile.Add(sums);
        if (block + 1 < p.blocks) tile.Put(sums);
      }
    }
    tile.Finish(p, added ? at.end.residual : nullptr, at.end.c);
    // Not inlined: there are dozens of tiles.
    if (is_active) {
      ActivateTile(p.activation, {at.end.c, p.ldc, R, p.columns});
    }
    if (at.end.residual != nullptr && !added) AddResidual(p, at.end, R);
  }
}

using TileFunction = void (*)(const PanelProduct&, const DepthParts&, int64_t, TileBegin&);

// MultiplyTiles<1, V, kLayout>, and so on up to the tallest tile of that width.
template <int V, Layout kLayout, int... kLess>
constexpr auto TilesOf(std::integer_sequence<int, kLess...>) {
  return std::array<TileFunction, RowsOf(1)>{MultiplyTiles<kLess + 1, V, kLayout>...};
}
template <Layout kLayout, int... kLess>
constexpr auto TilesOf(std::integer_sequence<int, kLess...>) {
  return std::array<std::array<TileFunction, RowsOf(1)>, kWide>{
      TilesOf<kLess + 1, kLayout>(std::make_integer_sequence<int, RowsOf(kLess + 1)>())...};
}
// Indexed by layout, vectors and rows.
constexpr std::array<std::array<std::array<TileFunction, RowsOf(1)>, kWide>, 4> kTiles = {
    TilesOf<Layout::kPanel>(std::make_integer_sequence<int, kWide>()),
    TilesOf<Layout::kPanelAndSegments>(std::make_integer_sequence<int, kWide>()),
    TilesOf<Layout::kInPlace>(std::make_integer_sequence<int, kWide>()),
    TilesOf<Layout::kInPlaceTail>(std::make_integer_sequence<int, kWide>())};

Layout LayoutOf(const PanelProduct& p) {
  if (p.segment_offsets != nullptr) return Layout::kPanelAndSegments;
  if (p.padded) return Layout::kPanel;
  const bool whole = p.columns % static_cast<int64_t>(hn::Lanes(Floats())) == 0;
  return whole ? Layout::kInPlace : Layout::kInPlaceTail;
}

// The part of p.next that each of `tiles` tiles prefetches, some lines every `unroll` steps.
Ahead AheadOf(const PanelProduct& p, int64_t tiles, int unroll) {
  const auto* const at = reinterpret_cast<const char*>(p.next);
  const int64_t steps = tiles * p.segments * (p.k / unroll);
  if (at == nullptr || steps == 0 || tiles == 1) return {at, 0};
  return {at, hwy::DivCeil(hwy::DivCeil(p.next_bytes, Ahead::kLine), steps)};
}

// Multiplies all rows by at most kWide vectors. Rows are split evenly, since a tile of one or two
// rows cannot keep the multipliers busy.
void MultiplyRows(const PanelProduct& p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  const int64_t vectors = hwy::DivCeil(p.columns, lanes);
  const auto& tiles = kTiles[static_cast<size_t>(LayoutOf(p))][vectors - 1];
  const int64_t count = hwy::DivCeil<int64_t>(p.rows, RowsOf(static_cast<int>(vectors)));
  if (count == 0) return;
  const EvenParts rows(p.rows, count);
  const DepthParts depth(p.k, p.blocks);
  // A single tile fetches its panel itself.
  TileBegin at = {p.a,
                  {p.c, p.residual.data},
                  !p.fetched || count == 1,
                  AheadOf(p, count, UnrollOf(static_cast<int>(vectors), LayoutOf(p))),
                  p.next_bytes / count};
  if (rows.longer > 0) tiles[rows.shortest](p, depth, rows.longer, at);
  tiles[rows.shortest - 1](p, depth, count - rows.longer, at);
}

int64_t PanelWidth() { return kNarrow * static_cast<int64_t>(hn::Lanes(Floats())); }

void MultiplyPanels(const PanelProduct& p) {
  const int64_t width = PanelWidth();
  const auto vectors = static_cast<int>(hwy::DivCeil(p.columns, int64_t{hn::Lanes(Floats())}));
  // One tile across both panels, unless two are taller.
  if (p.rows <= kWideRows || RowsOf(vectors) > kWideRows) return MultiplyRows(p);
  PanelProduct half = p;
  half.columns = width;
  // Unpacked panels are used in place, with rows far from each other.
  if (p.padded) {
    half.next = p.b + p.panel_stride;
    half.next_bytes = p.segments * p.k * width * static_cast<int64_t>(sizeof(float));
  }
  MultiplyRows(half);
  half.fetched = p.fetched || p.padded;
  half.next = p.next;
  half.next_bytes = p.next_bytes;
  half.columns = p.columns - width;
  half.b += p.panel_stride;
  half.c += width;
  if (p.bias != nullptr) half.bias += width;
  if (p.residual.data != nullptr) half.residual.data += width * p.residual.column_stride;
  MultiplyRows(half);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
#if HWY_COMPILER_GCC_ACTUAL
#pragma GCC pop_options
#endif
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(MultiplyPanels);
HWY_EXPORT(PanelWidth);

void MultiplyPanels(const PanelProduct& product) { HWY_DYNAMIC_DISPATCH(MultiplyPanels)(product); }
int64_t PanelWidth() { return HWY_DYNAMIC_DISPATCH(PanelWidth)(); }

}  // namespace attnrun::ops
#endif  // HWY_ONCE
