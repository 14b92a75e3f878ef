// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RELATIVE_RELATIVE_POSITIONS_H_
#define ATTNRUN_OPS_RELATIVE_RELATIVE_POSITIONS_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.RelativePositions-1, made by the optimizer (a, b), int32 or int64 of one type. Their
// difference broadcasts to [..., S, T] and depends only on t - s for the pair (s, t):
//
//   y[..., 0, t - s + S] = a[..., s, t] - b[..., s, t], y [..., 1, S + T]
//
// No pair has t - s = -S; y[..., 0, 0] repeats its neighbor. With S = 0 or T = 0, y is all 0.
class RelativePositions final : public Op {
 public:
  explicit RelativePositions(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RELATIVE_RELATIVE_POSITIONS_H_
