// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RELATIVE_RELATIVE_TO_ABSOLUTE_H_
#define ATTNRUN_OPS_RELATIVE_RELATIVE_TO_ABSOLUTE_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.RelativeToAbsolute-1, made by the optimizer (x [..., 1, S + T], queries [..., S, 1]) -> y
// [..., S, T]:
//
//   y[..., s, t] = x[..., 0, t - s + S]
//
// It turns relative into absolute positions (Huang et al. 2018, "Music Transformer", section 3.4).
// x is of any type but packed ones and string. The queries only state S: they have any type and any
// rank from 2 on. y is a view of x whose rows overlap.
class RelativeToAbsolute final : public Op {
 public:
  explicit RelativeToAbsolute(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // y as a view of x. kInvalidArgument if the inputs do not fit each other.
  static absl::StatusOr<Tensor> ViewOf(const OpContext& context);
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RELATIVE_RELATIVE_TO_ABSOLUTE_H_
