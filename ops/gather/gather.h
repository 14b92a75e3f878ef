// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_GATHER_H_
#define ATTNRUN_OPS_GATHER_GATHER_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Gather-1, -11, -13 (data [A, N, B], indices [I]) -> [A, I, B]: y[a, i, b] = data[a,
// indices[i], b], where A stands for the axes before `axis`, B for those after it and I for all
// axes of the indices. Negative indices count from the end.
class Gather final : public Op {
 public:
  explicit Gather(AttributeReader& attributes) : axis_(attributes.Int("axis", 0)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t axis_;
};

// The shape [A, I, B] of the result.
Shape GatheredShape(const Tensor& data, const Tensor& indices, int axis);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_GATHER_H_
