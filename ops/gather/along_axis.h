// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_ALONG_AXIS_H_
#define ATTNRUN_OPS_GATHER_ALONG_AXIS_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.TakeAlongAxis-1, made by the optimizer (data [..., P] of any type, indices [..., T],
// int32 or int64): y[..., t] = data[..., indices[..., t]]. The leading axes of the indices
// broadcast to those of the data; negative indices count from the end. It is GatherElements along
// the last axis without the indices repeated, as numpy.take_along_axis.
class TakeAlongAxis final : public Op {
 public:
  explicit TakeAlongAxis(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // The shape of y. kInvalidArgument if inputs do not fit each other or indices are out of range.
  static absl::StatusOr<Shape> Resolve(const OpContext& context);
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_ALONG_AXIS_H_
