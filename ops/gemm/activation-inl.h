// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_ACTIVATION_INL_H_
#undef ATTNRUN_OPS_GEMM_ACTIVATION_INL_H_
#else
#define ATTNRUN_OPS_GEMM_ACTIVATION_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "ops/gemm/activation.h"
#include "ops/tensors/rough_activation-inl.h"
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

// Calls use(f) with the function of vectors f(d, x, activation), if there is one.
template <class Use>
HWY_INLINE void VisitActivation(const Activation& activation, Use use) {
  if (activation.is_rough) return VisitRoughActivation(activation.function, use);
  VisitActivation(activation.function, use);
}

// Replaces each element of the tile by its activation. The bits do not depend on the element's
// place.
inline HWY_NOINLINE void ActivateTile(const Activation& activation, const TileView& tile) {
  VisitActivation(activation, [&](auto f) HWY_ATTR {
    MapTile(tile, [&](auto d, auto x) HWY_ATTR { return f(d, x, activation); });
  });
}

// An activation that does no more than clamp, for kernels that apply it in registers; other
// activations clamp nothing.
struct Clamp {
  explicit Clamp(const Activation& activation) {
    const bool clips = activation.function == UnaryFunction::kClip;
    is_all = clips || activation.function == UnaryFunction::kRelu || !activation;
    if (activation.function == UnaryFunction::kRelu) low = 0;
    if (clips) low = activation.alpha, high = activation.beta;
  }

  // x86's minimum and maximum return their second operand if either one is NaN, or both are zeros.
  template <class D, class V>
  HWY_INLINE V Apply(D d, V x) const {
    return hn::Min(hn::Set(d, high), hn::Max(hn::Set(d, low), x));
  }

  // True if nothing is left to apply.
  bool is_all;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
