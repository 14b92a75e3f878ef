// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_ND_H_
#define ATTNRUN_OPS_GATHER_ND_H_

#include <memory>

#include "ops/gather/scatter_reduction.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX GatherND-11, -12, -13 (data [B..., D1, ..., Dk, S...], indices [B..., I..., k]) -> [B...,
// I..., S...]: y[b, i] = data[b, indices[b, i, 0], ..., indices[b, i, k - 1]]; the last axis of the
// indices holds tuples. `batch_dims` (from version 12 on) is the number of axes B.
class GatherND final : public Op {
 public:
  explicit GatherND(AttributeReader& attributes)
      : batch_dims_(attributes.version() >= 12 ? attributes.Int("batch_dims", 0) : 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t batch_dims_;
};

// ONNX ScatterND-11, -13, -16, -18 (data [D1, ..., Dk, S...], indices [I..., k], updates [I...,
// S...]): a copy of the data with y[indices[i, 0], ..., indices[i, k - 1]] = updates[i].
// `reduction` is as in ScatterElements.
class ScatterND final : public Op {
 public:
  explicit ScatterND(AttributeReader& attributes) : reduction_(ReadScatterReduction(attributes)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  ScatterReduction reduction_;
};

// How tuples of indices address slices of the data.
struct TupleLayout {
  // k, the length of a tuple, and the number of batch axes before the axes that it indexes.
  int length = 0;
  int batch_axes = 0;
  int64_t tuples = 0;
  // The number of elements of the slice that a tuple names.
  int64_t slice = 1;
  // [B..., I..., S...], the shape of GatherND's result and of ScatterND's updates.
  Shape shape;
};

// The layout; kInvalidArgument unless the ranks and the batch axes fit and the indices are int64
// (or int32).
absl::StatusOr<TupleLayout> LayOutTuples(const Tensor& data, const Tensor& indices,
                                         int64_t batch_dims);

// LayOutTuples for ScatterND, whose updates must have the data's type and the layout's shape.
absl::StatusOr<TupleLayout> LayOutUpdates(const Tensor& data, const Tensor& indices,
                                          const Tensor& updates);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_ND_H_
