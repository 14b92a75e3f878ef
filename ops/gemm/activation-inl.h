// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_ACTIVATION_INL_H_
#undef ATTNRUN_OPS_GEMM_ACTIVATION_INL_H_
#else
#define ATTNRUN_OPS_GEMM_ACTIVATION_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "ops/gemm/activation.h"
#include "ops/tensors/vector_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile in memory: rows of `columns` floats, `stride` apart.
struct TileView {
  float* data;
  int64_t stride;
  int64_t rows;
  int64_t columns;
};

// Applies f to the tile vector by vector; the processor overlaps the computation of several.
template <typename Function>
HWY_INLINE void MapTile(const TileView& tile, Function f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = tile.columns / lanes;
  const auto rest = static_cast<size_t>(tile.columns % lanes);
  for (int64_t row = 0; row < tile.rows; ++row) {
    float* at = tile.data + row * tile.stride;
    for (int64_t i = 0; i < whole; ++i, at += lanes) hn::StoreU(f(d, hn::LoadU(d, at)), d, at);
    if (rest > 0) hn::StoreN(f(d, hn::LoadN(d, at, rest)), d, at, rest);
  }
}

// Replaces each element of the tile by its activation. The bits do not depend on the element's
// place.
inline HWY_NOINLINE void ActivateTile(const Activation& activation, const TileView& tile) {
  VisitActivation(activation.function, [&](auto f) HWY_ATTR {
    MapTile(tile, [&](auto d, auto x) HWY_ATTR { return f(d, x, activation); });
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
