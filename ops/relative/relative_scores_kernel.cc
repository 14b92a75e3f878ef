// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/relative/relative_scores_kernel.cc"
#include "hwy/foreach_target.h"
// Highway requires these includes after foreach_target.h.
#include "hwy/highway.h"
#include "ops/attention/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// scale times `positions` [count, size], transposed: [size, width].
void PackPositions(const float* positions, float scale, size_t count, size_t size, size_t width,
                   float* packed) {
  const auto stride = static_cast<int64_t>(size);
  PackTransposed({positions, stride, 1}, scale, count, size, width, packed);
}

// scores [rows, count] = x [rows, size] packed [size, count]. Rows of scores, and of packed, are
// `width` apart.
void ScorePositions(const float* x, size_t rows, size_t size, const float* packed, size_t width,
                    size_t count, float* scores) {
  Fetch nothing;
  Multiply(x, size, rows, packed, width, count, size, false, scores, width, nothing);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <utility>
#include <vector>

#include "core/div_ceil.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/relative/relative_scores.h"
#include "ops/tensors/broadcast_tensor.h"
#include "ops/tensors/float_rows.h"
#include "ops/tensors/index_range.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(PackPositions);
HWY_EXPORT(ScorePositions);

// Rows whose scores with all positions are computed before the needed ones are picked: few enough
// that they stay in the second-level cache.
constexpr int64_t kRows = 48;

constexpr int64_t kLine = 16;

// Floats of a row of scores with so many positions: whole vectors, in an odd number of cache lines,
// so that the elements of a column spread over the sets of the first-level cache.
int64_t Width(int64_t positions) { return (DivCeil(positions, kLine) | 1) * kLine; }

// The indices that pick a score for each y[m, s, t]. `first` is the position of the first score.
template <typename Index>
struct Picked {
  const Index* index;
  int64_t row_stride;
  int64_t column_stride;
  int64_t positions;
  int64_t first;

  int64_t At(int64_t row, int64_t column) const {
    return WrapIndex(index[row * row_stride + column * column_stride], positions) - first;
  }
};

// Extends `range` to the positions that some rows of indices name. Precondition: at least one.
template <typename Index>
void AddPositions(const Picked<Index>& picked, int64_t rows, int64_t columns, IndexRange& range) {
  // Indices that are the same for all rows, or columns, are read once.
  if (picked.row_stride == 0) rows = 1;
  if (picked.column_stride == 0) columns = 1;
  for (int64_t s = 0; s < rows; ++s) {
    for (int64_t t = 0; t < columns; ++t) {
      const int64_t position = picked.At(s, t);
      range.begin = std::min(range.begin, position);
      range.end = std::max(range.end, position + 1);
    }
  }
}

// Adds the picked scores of `rows` rows to as many rows of y, or stores them.
template <typename Index>
void PickRows(const float* scores, int64_t width, int64_t rows, int64_t columns,
              const Picked<Index>& picked, bool add, float* y) {
  for (int64_t s = 0; s < rows; ++s, y += columns, scores += width) {
    for (int64_t t = 0; t < columns; ++t) {
      const float score = scores[picked.At(s, t)];
      y[t] = add ? y[t] + score : score;
    }
  }
}

// The same for columns of y, whose rows are y_stride apart.
template <typename Index>
void PickColumns(const float* scores, int64_t width, int64_t rows, int64_t columns,
                 const Picked<Index>& picked, bool add, float* y, int64_t y_stride) {
  for (int64_t t = 0; t < columns; ++t, y += y_stride) {
    const float* from = scores;
    for (int64_t s = 0; s < rows; ++s, from += width) {
      const float score = from[picked.At(s, t)];
      y[s] = add ? y[s] + score : score;
    }
  }
}

class RelativeScoresKernel final : public Kernel {
 public:
  explicit RelativeScoresKernel(const RelativeScores& op) : op_(op) {}

  absl::string_view name() const override { return "highway"; }
  bool accepts_strided() const override { return true; }
  bool Accepts(const OpContext& context) const override {
    return context.input(0).type() == DataType::kFloat;
  }

  absl::Status Run(OpContext& context) const override {
    std::vector<RelativeTerm> sizes;
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, op_.Resolve(context, &sizes));
    std::vector<Term> terms;
    int64_t scratch_size = 0;
    for (int i = 0; i < op_.terms(); ++i) {
      ATTNRUN_ASSIGN_OR_RETURN(Term term, MakeTerm(context, i, sizes[i]));
      scratch_size = std::max(scratch_size, term.width * (sizes[i].size + kRows));
      terms.push_back(std::move(term));
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kFloat, shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    auto* const out = y->mutable_data<float>();
    const int64_t matrix = sizes[0].rows * sizes[0].columns;
    return ParallelForWithScratch(sizes[0].matrices, 1, scratch_size, context.allocator(),
                                  [&](int64_t begin, int64_t end, float* scratch) {
                                    for (int64_t m = begin; m < end; ++m) {
                                      for (size_t i = 0; i < terms.size(); ++i) {
                                        AddTerm(terms[i], m, i > 0, scratch, out + m * matrix);
                                      }
                                    }
                                  });
  }

  int64_t Flops(const OpContext& context) const override {
    std::vector<RelativeTerm> sizes;
    if (!op_.Resolve(context, &sizes).ok()) return 0;
    int64_t flops = 0;
    for (const RelativeTerm& term : sizes) {
      flops += 2 * term.matrices * term.rows * term.columns * term.size;
    }
    return flops;
  }

 private:
  struct Term {
    RelativeTerm sizes;
    float scale = 1;
    bool transposed = false;
    Tensor x;
    Tensor positions;
    Tensor indices;
    // Strides of the indices over [..., S, T].
    Shape strides;
    Shape pairs;
    // The positions that indices name, those of all matrices together; for each kRows rows, the
    // scores of which are needed, counted from there; and the floats of a row of scores.
    IndexRange used;
    std::vector<IndexRange> used_by_rows;
    int64_t width = 0;

    // Where the indices of matrix m begin.
    int64_t Matrix(int64_t m) const {
      return OffsetOf(m, absl::MakeConstSpan(pairs).first(pairs.size() - 2), strides);
    }
    template <typename Index>
    Picked<Index> At(const Index* index, int64_t matrix, int64_t row) const {
      const int64_t row_stride = strides[strides.size() - 2];
      return {index + matrix + row * row_stride, row_stride, strides.back(), sizes.positions,
              used.begin};
    }
  };

  absl::StatusOr<Term> MakeTerm(const OpContext& context, int i, const RelativeTerm& sizes) const {
    const int first = RelativeScores::kInputsPerTerm * i;
    Term term;
    term.sizes = sizes;
    term.scale = op_.scale(i);
    term.transposed = op_.transposed(i);
    ATTNRUN_ASSIGN_OR_RETURN(term.x, context.input(first).Dense(context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(term.positions, context.input(first + 1).Dense(context.allocator()));
    term.indices = context.input(first + 2);
    term.pairs = term.x.shape();
    term.pairs.back() = sizes.columns;
    ATTNRUN_ASSIGN_OR_RETURN(term.strides, BroadcastStridesOf(term.indices, term.pairs));
    FindUsed(term);
    return term;
  }

  // Pairs of nearby rows and columns name a part of the positions, which is all that is multiplied.
  static void FindUsed(Term& term) {
    const RelativeTerm& sizes = term.sizes;
    term.used_by_rows.resize(DivCeil(sizes.rows, kRows), {sizes.positions, 0});
    if (sizes.columns == 0) term.used_by_rows.clear();
    int64_t before = -1;
    for (int64_t m = 0; m < sizes.matrices; ++m) {
      const int64_t matrix = term.Matrix(m);
      // Heads share their indices.
      if (matrix == std::exchange(before, matrix)) continue;
      for (size_t part = 0; part < term.used_by_rows.size(); ++part) {
        const int64_t row = static_cast<int64_t>(part) * kRows;
        WithIndices(term.indices, [&](const auto* index) {
          AddPositions(term.At(index, matrix, row), std::min(kRows, sizes.rows - row),
                       sizes.columns, term.used_by_rows[part]);
        });
      }
    }
    term.used = {sizes.positions, 0};
    for (const IndexRange& part : term.used_by_rows) {
      term.used = {std::min(term.used.begin, part.begin), std::max(term.used.end, part.end)};
    }
    term.used.begin = std::min(term.used.begin, term.used.end);
    term.width = Width(term.used.size());
    for (IndexRange& part : term.used_by_rows) {
      // Whole vectors.
      part.begin = (part.begin - term.used.begin) / kLine * kLine;
      part.end -= term.used.begin;
    }
  }

  // Adds the term to matrix m of y, or stores it unless `add`.
  static void AddTerm(const Term& term, int64_t m, bool add, float* scratch, float* y) {
    const RelativeTerm& sizes = term.sizes;
    const int64_t width = term.width;
    float* const packed = scratch;
    float* const scores = scratch + width * sizes.size;
    const int64_t first = m % sizes.position_matrices * sizes.positions + term.used.begin;
    const float* const positions = term.positions.data<float>() + first * sizes.size;
    HWY_DYNAMIC_DISPATCH(PackPositions)
    (positions, term.scale, term.used.size(), sizes.size, width, packed);
    const int64_t matrix = term.Matrix(m);
    for (size_t part = 0; part < term.used_by_rows.size(); ++part) {
      const int64_t s = static_cast<int64_t>(part) * kRows;
      const int64_t rows = std::min(kRows, sizes.rows - s);
      const float* x = term.x.data<float>() + (m * sizes.rows + s) * sizes.size;
      const IndexRange& used = term.used_by_rows[part];
      HWY_DYNAMIC_DISPATCH(ScorePositions)
      (x, rows, sizes.size, packed + used.begin, width, DivCeil(used.size(), kLine) * kLine,
       scores + used.begin);
      WithIndices(term.indices, [&](const auto* index) {
        const Picked picked = term.At(index, matrix, s);
        if (term.transposed) {
          PickColumns(scores, width, rows, sizes.columns, picked, add, y + s, sizes.rows);
        } else {
          PickRows(scores, width, rows, sizes.columns, picked, add, y + s * sizes.columns);
        }
      });
    }
  }

  const RelativeScores op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> RelativeScores::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<RelativeScoresKernel>(*this);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
