// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_RELATIVE_RELATIVE_TO_ABSOLUTE_H_
#define ATTNRUN_OPS_RELATIVE_RELATIVE_TO_ABSOLUTE_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.RelativeToAbsolute-1, made by the optimizer, with inputs x [..., 1, S + T], of any type
// that is not packed and not string, and `queries` of any type, [..., S, 1] or another rank of 2
// or more, of which nothing but S is read: y[..., s, t] = x[..., 0, t - s + S], y [..., S, T].
// From positions relative to each other to absolute ones (Huang et al. 2018, "Music Transformer",
// section 3.4). y is a view of x: rows overlap.
class RelativeToAbsolute final : public Op {
 public:
  explicit RelativeToAbsolute(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

  // y as a view of x. kInvalidArgument for inputs that do not fit together.
  static absl::StatusOr<Tensor> ViewOf(const OpContext& context);
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_RELATIVE_RELATIVE_TO_ABSOLUTE_H_
