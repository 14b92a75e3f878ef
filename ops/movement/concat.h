// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_CONCAT_H_
#define ATTNRUN_OPS_MOVEMENT_CONCAT_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Concat-4, -11, -13: the inputs, one after the other along `axis`. Their types and all other
// extents must agree.
class Concat final : public Op {
 public:
  explicit Concat(AttributeReader& attributes) : axis_(attributes.Required<int64_t>("axis")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // The shape of the result.
  absl::StatusOr<Shape> Join(const OpContext& context, int axis) const;
  int64_t axis() const { return axis_; }

 private:
  int64_t axis_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_CONCAT_H_
