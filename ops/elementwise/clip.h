// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_CLIP_H_
#define ATTNRUN_OPS_ELEMENTWISE_CLIP_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

// ONNX Clip-6 to -13: min(max(x, low), high), so that `high` wins where low > high; NaN stays NaN.
// The bounds are attributes before version 11, optional scalar inputs of the type of x from then
// on. A missing bound is the lowest or largest finite number of the type.
class Clip final : public Op {
 public:
  explicit Clip(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

 private:
  // Versions before 11.
  const bool bounds_are_attributes_;
  float low_ = 0;
  float high_ = 0;
};

// kInvalidArgument unless the bounds among the inputs are single elements of the type of x.
absl::Status CheckClipBounds(const OpContext& context);

void RegisterClip(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_CLIP_H_
