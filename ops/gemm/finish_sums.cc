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

void StoreIntegers(const SumsBlock& p, const Vectors& v, int64_t begin, int64_t end) {
  const Integers d;
  const Terms terms(p, v);
  for (int64_t row = begin; row < end; ++row) {
    const auto* const sums = static_cast<const int32_t*>(p.sums) + row * p.ld + v.at;
    hn::BlendedStore(terms.AddTo(hn::LoadU(d, sums), row), hn::RebindMask(d, v.keep), d,
                     p.integer_c + row * p.ldc + v.at);
  }
}

// Calls use(row, y) with y = float(sums) * (row_scales * scales) + bias for rows [begin, end).
template <typename Use>
HWY_INLINE void Scale(const SumsBlock& p, const Vectors& v, int64_t begin, int64_t end, Use use) {
  const Floats d;
  const Integers di;
  const auto scale =
      p.scales == nullptr ? hn::Set(d, 1.0F) : hn::MaskedLoad(v.keep, d, p.scales + v.at);
  const auto bias = p.bias == nullptr ? hn::Zero(d) : hn::MaskedLoad(v.keep, d, p.bias + v.at);
  const auto* const floats = static_cast<const float*>(p.sums) + v.at;
  if (!p.integers) {
    for (int64_t row = begin; row < end; ++row) {
      use(row, hn::MulAdd(hn::LoadU(d, floats + row * p.ld), scale, bias));
    }
    return;
  }
  const Terms terms(p, v);
  const auto* const integers = static_cast<const int32_t*>(p.sums) + v.at;
  for (int64_t row = begin; row < end; ++row) {
    const auto sum = terms.AddTo(hn::LoadU(di, integers + row * p.ld), row);
    const auto factor =
        p.row_scales == nullptr ? scale : hn::Mul(scale, hn::Set(d, p.row_scales[row]));
    use(row, hn::MulAdd(hn::ConvertTo(d, sum), factor, bias));
  }
}

// Row `row` of the residual.
HWY_INLINE hn::Vec<Floats> Residual(const SumsBlock& p, const Vectors& v, int64_t row) {
  const Floats d;
  const TileResidual& residual = p.residual;
  const float* const from =
      residual.data + row * residual.row_stride + v.at * residual.column_stride;
  if (residual.column_stride == 1) return hn::MaskedLoad(v.keep, d, from);
  if (residual.column_stride == 0) return hn::Set(d, *from);
  HWY_ALIGN float gathered[hn::MaxLanes(Floats())] = {};
  for (int64_t j = 0; j < std::min(kLanes, p.columns - v.at); ++j) {
    gathered[j] = from[j * residual.column_stride];
  }
  return hn::Load(d, gathered);
}

// y plus row `row` of the residual, if there is one, times its scale.
HWY_INLINE hn::Vec<Floats> AddResidual(const SumsBlock& p, const Vectors& v, int64_t row,
                                       hn::Vec<Floats> y) {
  if (p.residual.data == nullptr) return y;
  return hn::MulAdd(Residual(p, v, row), hn::Set(Floats(), p.residual.scale), y);
}

// Stores y to row `row` of C.
HWY_INLINE void Store(const SumsBlock& p, const Vectors& v, int64_t row, hn::Vec<Floats> y) {
  const Floats d;
  if (p.bf16_c == nullptr) {
    hn::BlendedStore(y, v.keep, d, p.c + row * p.ldc + v.at);
    return;
  }
  StoreBf16ForAmx(y, p.bf16_c + row * p.ldc + v.at, static_cast<size_t>(p.columns - v.at));
}

// Calls use(vectors) for each vector of columns.
template <typename Use>
HWY_INLINE void ForEachVector(int64_t columns, Use use) {
  for (int64_t at = 0; at < columns; at += kLanes) {
    use(Vectors{at, hn::FirstN(Floats(), static_cast<size_t>(columns - at))});
  }
}

// activate(d, y) is the activation.
template <typename Activate>
HWY_INLINE void Finish(const SumsBlock& p, int64_t begin, int64_t end, Activate activate) {
  ForEachVector(p.columns, [&](const Vectors& v) HWY_ATTR {
    Scale(p, v, begin, end, [&](int64_t row, auto y) HWY_ATTR {
      if (p.residual_first) return Store(p, v, row, activate(Floats(), AddResidual(p, v, row, y)));
      Store(p, v, row, AddResidual(p, v, row, activate(Floats(), y)));
    });
  });
}

void FinishRows(const SumsBlock& p, int64_t begin, int64_t end) {
  if (p.integer_c != nullptr) {
    return ForEachVector(p.columns,
                         [&](const Vectors& v) HWY_ATTR { StoreIntegers(p, v, begin, end); });
  }
  if (!p.activation) {
    return Finish(p, begin, end, [](auto /*d*/, auto y) HWY_ATTR { return y; });
  }
  VisitActivation(p.activation, [&](auto f) HWY_ATTR {
    Finish(p, begin, end, [&](auto d, auto y) HWY_ATTR { return f(d, y, p.activation); });
  });
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(FinishRows);

void FinishRows(const SumsBlock& block, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(FinishRows)(block, begin, end);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
