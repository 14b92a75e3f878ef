// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_TRILU_H_
#define ATTNRUN_OPS_MOVEMENT_TRILU_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Trilu-14 (x [..., N, M], k?): keeps the elements with column - row >= k (`upper`) or <= k
// (lower) of each matrix; the others become zero. k is 0 if left out.
class Trilu final : public Op {
 public:
  explicit Trilu(AttributeReader& attributes) : upper_(attributes.Int("upper", 1) != 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  bool upper_;
};

// The node's k, clamped to [-rows, columns], which does not change its meaning. kInvalidArgument
// unless the input has rank 2 or more.
absl::StatusOr<int64_t> TriluDiagonal(const OpContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_TRILU_H_
