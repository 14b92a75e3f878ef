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

// scores [rows, width] = x [rows, size] packed [size, width].
void ScorePositions(const float* x, size_t rows, size_t size, const float* packed, size_t width,
                    float* scores) {
  Fetch nothing;
  Multiply(x, size, rows, packed, width, width, size, false, scores, width, nothing);
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <vector>

#include "core/status.h"
#include "core/strided.h"
#include "ops/relative/relative_scores.h"
#include "ops/tensors/broadcast_tensor.h"
#include "ops/tensors/float_rows.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(PackPositions);
HWY_EXPORT(ScorePositions);

// Rows whose scores with all positions are computed before the needed ones are picked: few enough
// that they stay in the second-level cache.
constexpr int64_t kRows = 48;

// Floats of a row of scores: whole vectors, in an odd number of cache lines, so that the elements
// of a column spread over the sets of the first-level cache.
int64_t Width(const RelativeTerm& term) {
  constexpr int64_t kLine = 16;
  return ((term.positions + kLine - 1) / kLine | 1) * kLine;
}

// The indices that pick a score for each y[m, s, t].
template <typename Index>
struct Picked {
  const Index* index;
  int64_t row_stride;
  int64_t column_stride;
  int64_t positions;
};

// Adds the picked scores of `rows` rows to as many rows of y, or stores them.
template <typename Index>
void PickRows(const float* scores, int64_t width, int64_t rows, int64_t columns,
              const Picked<Index>& picked, bool add, float* y) {
  for (int64_t s = 0; s < rows; ++s, y += columns, scores += width) {
    const Index* index = picked.index + s * picked.row_stride;
    for (int64_t t = 0; t < columns; ++t) {
      const float score = scores[WrapIndex(index[t * picked.column_stride], picked.positions)];
      y[t] = add ? y[t] + score : score;
    }
  }
}

// The same for columns of y, whose rows are y_stride apart.
template <typename Index>
void PickColumns(const float* scores, int64_t width, int64_t rows, int64_t columns,
                 const Picked<Index>& picked, bool add, float* y, int64_t y_stride) {
  for (int64_t t = 0; t < columns; ++t, y += y_stride) {
    const Index* index = picked.index + t * picked.column_stride;
    const float* from = scores;
    for (int64_t s = 0; s < rows; ++s, from += width) {
      const float score = from[WrapIndex(index[s * picked.row_stride], picked.positions)];
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
      terms.push_back(std::move(term));
      scratch_size = std::max(scratch_size, Width(sizes[i]) * (sizes[i].size + kRows));
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
      flops += 2 * term.matrices * term.rows * term.positions * term.size;
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
    return term;
  }

  // Adds the term to matrix m of y, or stores it unless `add`.
  static void AddTerm(const Term& term, int64_t m, bool add, float* scratch, float* y) {
    const RelativeTerm& sizes = term.sizes;
    const int64_t width = Width(sizes);
    float* const packed = scratch;
    float* const scores = scratch + width * sizes.size;
    const float* positions =
        term.positions.data<float>() + m % sizes.position_matrices * sizes.positions * sizes.size;
    HWY_DYNAMIC_DISPATCH(PackPositions)
    (positions, term.scale, sizes.positions, sizes.size, width, packed);
    const int64_t row_stride = term.strides[term.strides.size() - 2];
    const auto leading = absl::MakeSpan(term.pairs).first(term.pairs.size() - 2);
    const int64_t matrix = OffsetOf(m, leading, term.strides);
    for (int64_t s = 0; s < sizes.rows; s += kRows) {
      const int64_t rows = std::min(kRows, sizes.rows - s);
      const float* x = term.x.data<float>() + (m * sizes.rows + s) * sizes.size;
      HWY_DYNAMIC_DISPATCH(ScorePositions)(x, rows, sizes.size, packed, width, scores);
      WithIndices(term.indices, [&](const auto* index) {
        const Picked picked = {index + matrix + s * row_stride, row_stride, term.strides.back(),
                               sizes.positions};
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
