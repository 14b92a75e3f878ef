// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_ELEMENTS_H_
#define ATTNRUN_OPS_GATHER_ELEMENTS_H_

#include <memory>

#include "ops/gather/scatter_reduction.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX GatherElements-11, -13 (data, indices): y has the shape of the indices; y[i, j, k] = data[i,
// indices[i, j, k], k] if `axis` is 1, and likewise for other axes and ranks. Along all axes but
// `axis` the indices may be smaller than the data.
class GatherElements final : public Op {
 public:
  explicit GatherElements(AttributeReader& attributes) : axis_(attributes.Int("axis", 0)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t axis_;
};

// ONNX ScatterElements-11, -13, -16, -18 and Scatter-9, -11 (data, indices, updates): a copy of the
// data with y[i, indices[i, j, k], k] = updates[i, j, k] if `axis` is 1, and likewise. `reduction`
// (from version 16 on; max and min from 18) combines the old value with the update; without it, the
// last of several updates of one element stays.
class ScatterElements final : public Op {
 public:
  explicit ScatterElements(AttributeReader& attributes)
      : axis_(attributes.Int("axis", 0)), reduction_(ReadScatterReduction(attributes)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t axis_;
  ScatterReduction reduction_;
};

// kInvalidArgument unless the indices have the data's rank, are no larger than the data along all
// axes but `axis`, and all lie within `axis`.
absl::Status CheckElementIndices(const Tensor& data, const Tensor& indices, int axis);

// kInvalidArgument unless the updates have the data's type and the indices' shape.
absl::Status CheckElementUpdates(const Tensor& data, const Tensor& indices, const Tensor& updates);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_ELEMENTS_H_
