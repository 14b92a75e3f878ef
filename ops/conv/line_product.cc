// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/line_product.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv/line_product.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/even_parts.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// The tallest tile, in features. Its sums, a vector of each and a factor fit the registers: 32 with
// AVX-512, else 16.
constexpr int kTall = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

// The vectors of positions of a tile of R features: enough sums to hide the latency of additions.
constexpr int VectorsOf(int features) {
  if (features == 8) return 3;
  if (features == 4) return HWY_TARGET <= HWY_AVX3 ? 4 : 3;
  return features == 2 ? 4 : 8;
}
static_assert(VectorsOf(1) * 16 <= kLineSlack);

// The sums of R features and V vectors of positions.
template <int R, int V>
struct LineTile {
  HWY_INLINE void Clear() {
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < V; ++v) sum[r][v] = hn::Zero(DF());
    }
  }

  // Adds the products of `count` terms.
  HWY_INLINE void Sum(const float* x, const int64_t* offsets, const float* w, int64_t count) {
    const DF d;
    for (int64_t k = 0; k < count; ++k, w += R) {
      const float* const from = x + offsets[k];
      VF elements[V];
      HWY_UNROLL(8)
      for (int v = 0; v < V; ++v) elements[v] = hn::LoadU(d, from + v * hn::Lanes(d));
      HWY_UNROLL(8)
      for (int r = 0; r < R; ++r) {
        const VF factor = hn::Set(d, w[r]);
        HWY_UNROLL(8)
        for (int v = 0; v < V; ++v) sum[r][v] = hn::MulAdd(elements[v], factor, sum[r][v]);
      }
    }
  }

  // Adds the sums of earlier blocks, or keeps those of this one.
  HWY_INLINE void Add(const float* sums) {
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < V; ++v) {
        sum[r][v] = hn::Add(hn::Load(DF(), sums + (r * V + v) * hn::Lanes(DF())), sum[r][v]);
      }
    }
  }
  HWY_INLINE void Put(float* sums) const {
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      HWY_UNROLL(8)
      for (int v = 0; v < V; ++v) {
        hn::Store(sum[r][v], DF(), sums + (r * V + v) * hn::Lanes(DF()));
      }
    }
  }

  HWY_INLINE void Store(const LineProduct& p, int64_t feature, int64_t position) const {
    const DF d;
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const VF bias = p.bias == nullptr ? hn::Zero(d) : hn::Set(d, p.bias[feature + r]);
      float* to = p.y + (feature + r) * p.ldy + position;
      int64_t left = p.positions - position;
      HWY_UNROLL(8)
      for (int v = 0; v < V && left > 0; ++v) {
        hn::StoreN(hn::Add(sum[r][v], bias), d, to, static_cast<size_t>(left));
        to += hn::Lanes(d);
        left -= static_cast<int64_t>(hn::Lanes(d));
      }
    }
  }

  VF sum[R][V];
};

template <int R, int V>
HWY_NOINLINE void MultiplyLineTile(const LineProduct& p, int64_t feature, int64_t position) {
  HWY_ALIGN float sums[R * V * hn::MaxLanes(DF())];
  const EvenParts parts(static_cast<int64_t>(p.offsets.size()), p.blocks);
  LineTile<R, V> tile;
  for (int64_t block = 0; block < p.blocks; ++block) {
    const int64_t begin = parts.Begin(block);
    tile.Clear();
    tile.Sum(p.x + position, p.offsets.data() + begin,
             p.w + feature * static_cast<int64_t>(p.offsets.size()) + begin * R, parts[block]);
    if (block > 0) tile.Add(sums);
    if (block + 1 < p.blocks) tile.Put(sums);
  }
  tile.Store(p, feature, position);
}

// Multiplies R features.
template <int R>
void MultiplyFeatures(const LineProduct& p, int64_t feature) {
  constexpr int kVectors = VectorsOf(R);
  const auto lanes = static_cast<int64_t>(hn::Lanes(DF()));
  int64_t position = 0;
  for (; position + (kVectors - 1) * lanes < p.positions; position += kVectors * lanes) {
    MultiplyLineTile<R, kVectors>(p, feature, position);
  }
  for (; position < p.positions; position += lanes) MultiplyLineTile<R, 1>(p, feature, position);
}

// Calls use(features, first) for each tile's features.
template <typename Use>
void ForEachTile(int64_t features, Use use) {
  int64_t first = 0;
  for (int64_t rows = kTall; rows > 0; rows /= 2) {
    for (; first + rows <= features; first += rows) use(rows, first);
  }
}

void MultiplyLine(const LineProduct& p) {
  ForEachTile(p.features, [&](int64_t rows, int64_t first) {
    if (rows == 8) return MultiplyFeatures<kTall>(p, first);
    if (rows == 4) return MultiplyFeatures<4>(p, first);
    if (rows == 2) return MultiplyFeatures<2>(p, first);
    MultiplyFeatures<1>(p, first);
  });
}

void PackFeatures(const float* w, int64_t features, int64_t terms, float* packed) {
  ForEachTile(features, [&](int64_t rows, int64_t first) {
    for (int64_t k = 0; k < terms; ++k) {
      for (int64_t r = 0; r < rows; ++r) *packed++ = w[(first + r) * terms + k];
    }
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(MultiplyLine);
HWY_EXPORT(PackFeatures);

void MultiplyLine(const LineProduct& product) { HWY_DYNAMIC_DISPATCH(MultiplyLine)(product); }
void PackFeatures(const float* w, int64_t features, int64_t terms, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackFeatures)(w, features, terms, packed);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
