// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/finish_sums.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/finish_sums.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/gemm/activation-inl.h"
#include "ops/tensors/bf16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Integers = hn::ScalableTag<int32_t>;
using Floats = hn::ScalableTag<float>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::Lanes(Floats()));

// One vector of columns of a block: its first column, and the lanes that are columns.
struct Vectors {
  int64_t at;
  hn::Mask<Floats> keep;
};

// The integers of a row with their terms.
struct Terms {
  HWY_INLINE Terms(const SumsBlock& p, const Vectors& v) : block(p) {
    const Integers d;
    for (int i = 0; i < 2; ++i) {
      columns[i] = p.row_terms[i] == nullptr
                       ? hn::Zero(d)
                       : hn::MaskedLoad(hn::RebindMask(d, v.keep), d, p.column_terms[i] + v.at);
    }
  }

  HWY_INLINE hn::Vec<Integers> AddTo(hn::Vec<Integers> sum, int64_t row) const {
    const Integers d;
    for (int i = 0; i < 2; ++i) {
      if (block.row_terms[i] == nullptr) continue;
      sum = hn::Add(sum, hn::Mul(columns[i], hn::Set(d, block.row_terms[i][row])));
    }
    return sum;
  }

  const SumsBlock& block;
  hn::Vec<Integers> columns[2];
};

void StoreIntegers(const SumsBlock& p, const Vectors& v) {
  const Integers d;
  const Terms terms(p, v);
  for (int64_t row = 0; row < p.rows; ++row) {
    const auto* const sums = static_cast<const int32_t*>(p.sums) + row * p.ld + v.at;
    hn::BlendedStore(terms.AddTo(hn::LoadU(d, sums), row), hn::RebindMask(d, v.keep), d,
                     p.integer_c + row * p.ldc + v.at);
  }
}

// Calls end(row, y) with y = float(sums) * (row_scales * scales) + bias for every row.
template <typename End>
HWY_INLINE void Scale(const SumsBlock& p, const Vectors& v, End end) {
  const Floats d;
  const Integers di;
  const auto scale =
      p.scales == nullptr ? hn::Set(d, 1.0F) : hn::MaskedLoad(v.keep, d, p.scales + v.at);
  const auto bias = p.bias == nullptr ? hn::Zero(d) : hn::MaskedLoad(v.keep, d, p.bias + v.at);
  const auto* const floats = static_cast<const float*>(p.sums) + v.at;
  if (!p.integers) {
    for (int64_t row = 0; row < p.rows; ++row) {
      end(row, hn::MulAdd(hn::LoadU(d, floats + row * p.ld), scale, bias));
    }
    return;
  }
  const Terms terms(p, v);
  const auto* const integers = static_cast<const int32_t*>(p.sums) + v.at;
  for (int64_t row = 0; row < p.rows; ++row) {
    const auto sum = terms.AddTo(hn::LoadU(di, integers + row * p.ld), row);
    const auto factor =
        p.row_scales == nullptr ? scale : hn::Mul(scale, hn::Set(d, p.row_scales[row]));
    end(row, hn::MulAdd(hn::ConvertTo(d, sum), factor, bias));
  }
}

// Stores y + residual to row `row` of C.
HWY_INLINE void Store(const SumsBlock& p, const Vectors& v, int64_t row, hn::Vec<Floats> y) {
  const Floats d;
  const TileResidual& residual = p.residual;
  if (residual.data != nullptr) {
    const float* const from =
        residual.data + row * residual.row_stride + v.at * residual.column_stride;
    HWY_ALIGN float gathered[hn::MaxLanes(Floats())];
    for (int64_t j = 0; residual.column_stride > 1 && j < std::min(kLanes, p.columns - v.at); ++j) {
      gathered[j] = from[j * residual.column_stride];
    }
    const auto addend = residual.column_stride == 0   ? hn::Set(d, *from)
                        : residual.column_stride == 1 ? hn::MaskedLoad(v.keep, d, from)
                                                      : hn::Load(d, gathered);
    y = hn::MulAdd(addend, hn::Set(d, residual.scale), y);
  }
  if (p.bf16_c == nullptr) {
    hn::BlendedStore(y, v.keep, d, p.c + row * p.ldc + v.at);
    return;
  }
  const hn::Rebind<uint16_t, Floats> halves;
  hn::StoreN(hn::TruncateTo(halves, hn::ShiftRight<16>(RoundedBits(y))), halves,
             p.bf16_c + row * p.ldc + v.at, static_cast<size_t>(p.columns - v.at));
}

void FinishColumns(const SumsBlock& p, const Vectors& v) {
  const Floats d;
  if (p.integer_c != nullptr) return StoreIntegers(p, v);
  auto* const floats = static_cast<float*>(p.sums) + v.at;
  if (!p.activation) {
    return Scale(p, v, [&](int64_t row, auto y) HWY_ATTR { Store(p, v, row, y); });
  }
  Scale(p, v, [&](int64_t row, auto y) HWY_ATTR { hn::StoreU(y, d, floats + row * p.ld); });
}

void FinishSums(const SumsBlock& p) {
  const Floats d;
  const auto vectors = [&](int64_t at) HWY_ATTR {
    return Vectors{at, hn::FirstN(d, static_cast<size_t>(p.columns - at))};
  };
  for (int64_t at = 0; at < p.columns; at += kLanes) FinishColumns(p, vectors(at));
  if (p.integer_c != nullptr || !p.activation) return;
  ActivateTile(p.activation, {static_cast<float*>(p.sums), p.ld, p.rows, p.columns});
  for (int64_t at = 0; at < p.columns; at += kLanes) {
    const Vectors v = vectors(at);
    const auto* const floats = static_cast<const float*>(p.sums) + at;
    for (int64_t row = 0; row < p.rows; ++row) {
      Store(p, v, row, hn::LoadU(d, floats + row * p.ld));
    }
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(FinishSums);

void FinishSums(const SumsBlock& block) { HWY_DYNAMIC_DISPATCH(FinishSums)(block); }

}  // namespace attnrun::ops
#endif  // HWY_ONCE
