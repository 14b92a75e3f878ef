// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_TRILU_H_
#define ATTNRUN_OPS_MOVEMENT_TRILU_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Trilu-14: matrices [..., N, M] of which the elements with column - row >= k (`upper`) or
// <= k (lower) are kept and the others are zero. k is input 1, 0 if left out.
class Trilu final : public Op {
 public:
  explicit Trilu(AttributeReader& attributes) : upper_(attributes.Int("upper", 1) != 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

 private:
  bool upper_;
};

// k of the node, moved into [-rows, columns], where it means the same. Precondition: the matrices
// have rank 2 or more, which it checks.
absl::StatusOr<int64_t> TriluDiagonal(const OpContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_TRILU_H_
