// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/few_columns.h"

#include <algorithm>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/gemm/gemm_share.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/linear/few_columns.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Multiplies R rows from `row` on. The sums of a row are the same for any R.
template <int R>
HWY_INLINE void MultiplyRows(const MatrixView& rows, int64_t row, const float* column, float* sums,
                             int64_t sums_step) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t step = rows.row_stride;
  const float* const a = rows.at(row, 0);
  hn::Vec<decltype(d)> sum[R];
  HWY_UNROLL(4)
  for (int r = 0; r < R; ++r) sum[r] = hn::Zero(d);
  int64_t k = 0;
  for (; k + lanes <= rows.columns; k += lanes) {
    const auto w = hn::LoadU(d, column + k);
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) sum[r] = hn::MulAdd(hn::LoadU(d, a + r * step + k), w, sum[r]);
  }
  if (k < rows.columns) {
    const auto keep = hn::FirstN(d, static_cast<size_t>(rows.columns - k));
    const auto w = hn::MaskedLoad(keep, d, column + k);
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      sum[r] = hn::MulAdd(hn::MaskedLoad(keep, d, a + r * step + k), w, sum[r]);
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < R; ++r) sums[(row + r) * sums_step] = hn::ReduceSum(d, sum[r]);
}

// Rows times a column; the sums are `step` floats apart.
void MultiplyColumn(const MatrixView& rows, const float* column, float* sums, int64_t step) {
  constexpr int kAtOnce = 4;
  int64_t row = 0;
  for (; row + kAtOnce <= rows.rows; row += kAtOnce) {
    MultiplyRows<kAtOnce>(rows, row, column, sums, step);
  }
  for (; row < rows.rows; ++row) MultiplyRows<1>(rows, row, column, sums, step);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnrun::ops {

HWY_EXPORT(MultiplyColumn);

bool FewColumns::Serves(const SideBySide& weights) {
  constexpr int64_t kMostColumns = 4;
  // A dot product of fewer elements is mostly the sum over its vector; one of more would have
  // chains of more than 128 additions with 8 lanes.
  constexpr int64_t kLeast = 16;
  constexpr int64_t kMost = 1024;
  return weights.columns() > 0 && weights.columns() <= kMostColumns && weights.rows() >= kLeast &&
         weights.rows() <= kMost;
}

FewColumns::FewColumns(const SideBySide& weights)
    : columns_(weights.rows() * weights.columns()), count_(weights.columns()) {
  for (int64_t i = 0; i < count_; ++i) {
    weights.Copy(0, weights.rows(), i, 1, columns_.data() + i * weights.rows(), 1);
  }
}

void FewColumns::Multiply(const MatrixView& a, float* c, const Epilogue& epilogue) const {
  // The fewest multiplications that are worth a thread.
  constexpr int64_t kLeast = 1 << 15;
  // Rows whose sums stay in cache until they end.
  constexpr int64_t kRows = 128;
  const GemmProblem problem = {.a = a, .b = {}, .c = c, .ldc = count_, .epilogue = epilogue};
  const int64_t grain = std::max<int64_t>(kLeast / (a.columns * count_), 1);
  ParallelFor(a.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end && !Interrupted(); row += kRows) {
      const IndexRange rows = {row, std::min(row + kRows, end)};
      MatrixView part = a;
      part.data = a.at(row, 0);
      part.rows = rows.size();
      for (int64_t i = 0; i < count_; ++i) {
        HWY_DYNAMIC_DISPATCH(MultiplyColumn)
        (part, columns_.data() + i * a.columns, c + row * count_ + i, count_);
      }
      ApplyEpilogue(problem, rows, 0, count_);
    }
  });
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
