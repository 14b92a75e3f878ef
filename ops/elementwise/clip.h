// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_CLIP_H_
#define ATTNRUN_OPS_ELEMENTWISE_CLIP_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

// ONNX Clip-6, -11, -12, -13 (x, low?, high?): min(max(x, low), high), so `high` wins where low >
// high; NaN stays NaN. The bounds are attributes before version 11, optional scalar inputs of the
// type of x from version 11 on. A missing bound is the lowest or largest finite number of the type.
class Clip final : public Op {
 public:
  explicit Clip(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  // True before version 11; then these are the bounds.
  const bool bounds_are_attributes_;
  float low_ = 0;
  float high_ = 0;
};

// kInvalidArgument unless the bounds among the inputs are single elements of the type of x.
absl::Status CheckClipBounds(const OpContext& context);

void RegisterClip(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_CLIP_H_
