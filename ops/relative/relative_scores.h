// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RELATIVE_RELATIVE_SCORES_H_
#define ATTNRUN_OPS_RELATIVE_RELATIVE_SCORES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/shape.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The sizes of one term of RelativeScores.
struct RelativeTerm {
  // The number of matrices of x, and of positions, which repeat in turn.
  int64_t matrices = 1;
  int64_t position_matrices = 1;
  int64_t rows = 0;
  int64_t positions = 0;
  int64_t size = 0;
  // The number of scores in a row.
  int64_t columns = 0;
};

// attnrun.RelativeScores-1, made by the optimizer (x_1, positions_1, indices_1, x_2, positions_2,
// indices_2, ...): sums of the scores of queries or keys x [..., S, H] with embeddings of positions
// [..., P, H] (He et al. 2021, "DeBERTa", section 3.1). Each pair (s, t) has one position, named by
// indices [..., T], int32 or int64, which broadcast to [..., S, T]; negative ones count from the
// end.
//
//   y[..., s, t] = sum_i scales[i] * x_i[..., s, :] . positions_i[..., indices_i[..., s, t], :]
//
// If transposed[i] is 1, s and t are exchanged on the right: x_i is [..., T, H] and indices_i
// broadcast to [..., T, S]. With all leading axes counted as one, matrix m of x meets matrix m mod
// n of the n matrices of positions, where n divides the number of matrices of x. y has the type of
// x_1. Attributes: scales (floats), transposed (ints).
class RelativeScores final : public Op {
 public:
  explicit RelativeScores(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Inputs 3 * i, 3 * i + 1 and 3 * i + 2 are x, positions and indices of term i.
  static constexpr int kInputsPerTerm = 3;

  // The shape of y and, if `terms` is given, the sizes of each term. kInvalidArgument if inputs do
  // not fit each other or indices are out of range. Indices may be strided.
  absl::StatusOr<Shape> Resolve(const OpContext& context,
                                std::vector<RelativeTerm>* terms = nullptr) const;

  int terms() const { return static_cast<int>(scales_.size()); }
  float scale(int term) const { return scales_[term]; }
  bool transposed(int term) const { return transposed_[term] != 0; }

 private:
  std::vector<float> scales_;
  std::vector<int64_t> transposed_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RELATIVE_RELATIVE_SCORES_H_
