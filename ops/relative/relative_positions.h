// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RELATIVE_RELATIVE_POSITIONS_H_
#define ATTNRUN_OPS_RELATIVE_RELATIVE_POSITIONS_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.RelativePositions-1, made by the optimizer, with inputs a and b, int32 or int64 of one
// type, whose difference a - b broadcasts to [..., S, T] and is the same for all pairs (s, t) of
// one t - s: y[..., 0, t - s + S] = a[..., s, t] - b[..., s, t], y [..., 1, S + T]. No pair has
// t - s = -S: there y is as beside it. Without a query or without a key it is 0 everywhere.
class RelativePositions final : public Op {
 public:
  explicit RelativePositions(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RELATIVE_RELATIVE_POSITIONS_H_
