// SPDX-License-Identifier: Apache-2.0
// Per-target include guard, as Highway asks.
#if defined(ATTNRUN_OPS_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNRUN_OPS_GEMM_TILE_INL_H_
#undef ATTNRUN_OPS_GEMM_TILE_INL_H_
#else
#define ATTNRUN_OPS_GEMM_TILE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "ops/gemm/activation-inl.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/gemm/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

// Vectors per row of a panel.
constexpr int kNarrow = 3;

// Pointers to the next elements of A's R rows. A pointer serves three rows, one or two steps
// from it: one pointer per row would not fit the registers.
template <int R>
struct Rows {
  HWY_INLINE Rows(const float* a, int64_t lda) : step(lda) { PointAt(a); }
  // Makes a copy of other rows unnecessary, which clang refuses for arrays of restricted pointers.
  HWY_INLINE void PointAt(const float* a) {
    for (int i = 0; i < kPointers; ++i) first[i] = a + 3 * i * step;
  }
  HWY_INLINE const float* At(int row) const { return first[row / 3] + row % 3 * step; }
  HWY_INLINE void Advance(int64_t count) {
    for (int i = 0; i < kPointers; ++i) first[i] += count;
  }

  static constexpr int kPointers = (R + 2) / 3;
  const float* HWY_RESTRICT first[kPointers];
  int64_t step;
};

// Pretends to use `v`. Otherwise GCC turns the last product with a factor into one that overwrites
// it, and copies accumulators to and fro: 5 % of the time.
HWY_INLINE void StaysInRegister(Vector v) { asm volatile("" : : "v"(v.raw)); }

// How rows of B are laid out. A template parameter, since AVX2 has no register to spare for a mask,
// and the loop no instruction slot for run-time strides.
enum class Layout {
  // Packed panels, whose rows follow each other.
  kPanel,
  // The same, with rows of A in segments.
  kPanelAndSegments,
  // In place, a whole number of vectors.
  kInPlace,
  // In place, with a last vector that ends early and must not be read beyond.
  kInPlaceTail,
};

// The accumulators of R rows and V vectors of C.
template <int R, int V, Layout kLayout>
struct Tile {
  HWY_ATTR HWY_INLINE void Clear() {
    ATTNRUN_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      ATTNRUN_UNROLL(6)
      for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(Floats());
    }
  }

  // sum += column of A times row of B, whose last vector has `last` columns.
  HWY_ATTR HWY_INLINE void Step(const Rows<R>& a, int64_t k, const float* HWY_RESTRICT b,
                                int64_t panel_stride, size_t last) {
    const Floats d;
    Vector row[V];
    ATTNRUN_UNROLL(6)
    for (int v = 0; v < V; ++v) {
      const float* from = b + v / kNarrow * panel_stride + v % kNarrow * hn::Lanes(d);
      row[v] = kLayout == Layout::kInPlaceTail && v + 1 == V
                   ? hn::MaskedLoad(hn::FirstN(d, last), d, from)
                   : hn::LoadU(d, from);
    }
    ATTNRUN_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      const Vector factor = hn::Set(d, a.At(r)[k]);
      ATTNRUN_UNROLL(6)
      for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
      // The only product with a factor may read it from memory.
      if (V > 1) StaysInRegister(factor);
    }
    ATTNRUN_UNROLL(6)
    for (int v = 0; v < V; ++v) StaysInRegister(row[v]);
  }

  // sum += C.
  HWY_ATTR HWY_INLINE void AddC(const PanelProduct& p, const float* HWY_RESTRICT c) {
    const Floats d;
    ATTNRUN_UNROLL(6)
    for (int v = 0; v < V; ++v) {
      const auto keep = hn::FirstN(d, p.columns - v * hn::Lanes(d));
      ATTNRUN_UNROLL(16)
      for (int r = 0; r < R; ++r) {
        const float* from = c + r * p.ldc + v * hn::Lanes(d);
        sum[r][v] = hn::Add(sum[r][v], hn::MaskedLoad(keep, d, from));
      }
    }
  }

  // C = sum * scale [+ bias] [+ residual], clamped; the rows of the residual are
  // p.residual.row_stride apart. kWhole: C consists of whole vectors, which avoids masked stores
  // (see StoreUpTo).
  template <bool kWhole>
  HWY_ATTR HWY_INLINE void FinishAs(const PanelProduct& p, const float* HWY_RESTRICT residual,
                                    float* HWY_RESTRICT c) const {
    const Floats d;
    const Clamp clamp(p.activation);
    const Vector scale = hn::Set(d, p.scale);
    const Vector residual_scale = hn::Set(d, p.residual.scale);
    ATTNRUN_UNROLL(6)
    for (int v = 0; v < V; ++v) {
      const size_t at = v * hn::Lanes(d);
      const auto keep = hn::FirstN(d, p.columns - at);
      const auto load = [&](const float* from) HWY_ATTR {
        return kWhole ? hn::LoadU(d, from) : hn::MaskedLoad(keep, d, from);
      };
      const Vector bias = p.bias == nullptr ? hn::Zero(d) : load(p.bias + at);
      ATTNRUN_UNROLL(16)
      for (int r = 0; r < R; ++r) {
        Vector y = hn::MulAdd(sum[r][v], scale, bias);
        if (residual != nullptr) {
          y = hn::MulAdd(load(residual + r * p.residual.row_stride + at), residual_scale, y);
        }
        y = clamp.Apply(d, y);
        if (kWhole) {
          hn::StoreU(y, d, c + r * p.ldc + at);
        } else {
          hn::BlendedStore(y, keep, d, c + r * p.ldc + at);
        }
      }
    }
  }
  HWY_ATTR HWY_INLINE void Finish(const PanelProduct& p, const float* HWY_RESTRICT residual,
                                  float* HWY_RESTRICT c) const {
    if (HWY_TARGET <= HWY_AVX3 || p.columns < V * static_cast<int64_t>(hn::Lanes(Floats()))) {
      return FinishAs<false>(p, residual, c);
    }
    if (residual != nullptr) return FinishAs<true>(p, residual, c);
    FinishAs<true>(p, nullptr, c);
  }

  // Spill and reload the sums of earlier blocks of K while the next block needs the registers.
  HWY_ATTR HWY_INLINE void Put(float* HWY_RESTRICT sums) const {
    const Floats d;
    ATTNRUN_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      ATTNRUN_UNROLL(6)
      for (int v = 0; v < V; ++v) hn::Store(sum[r][v], d, sums + (r * V + v) * hn::Lanes(d));
    }
  }
  HWY_ATTR HWY_INLINE void Add(const float* HWY_RESTRICT sums) {
    const Floats d;
    ATTNRUN_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      ATTNRUN_UNROLL(6)
      for (int v = 0; v < V; ++v) {
        sum[r][v] = hn::Add(sum[r][v], hn::Load(d, sums + (r * V + v) * hn::Lanes(d)));
      }
    }
  }

  Vector sum[R][V];
};

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ATTNRUN_OPS_GEMM_TILE_INL_H_
