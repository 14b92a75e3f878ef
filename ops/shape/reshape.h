// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SHAPE_RESHAPE_H_
#define ATTNRUN_OPS_SHAPE_RESHAPE_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Reshape-5 to -25 (data, shape int64 [n]): the same elements in the given shape. One extent
// may be -1: it holds the elements that the others leave. An extent of 0 is copied from the same
// axis of the data, unless `allowzero` (from version 14 on) keeps it 0. The result shares the
// data's bytes.
class Reshape final : public Op {
 public:
  explicit Reshape(AttributeReader& attributes)
      : allow_zero_(attributes.version() >= 14 && attributes.Int("allowzero", 0) != 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  bool allow_zero_;
};

// ONNX Flatten-1 to -25: a matrix [product of the axes before `axis`, product of the rest], with
// `axis` in [-rank, rank]. The result shares the data's bytes.
class Flatten final : public Op {
 public:
  explicit Flatten(AttributeReader& attributes) : axis_(attributes.Int("axis", 1)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t axis_;
};

// The shape that the shape input `wanted` of Reshape gives `data`. kInvalidArgument, with both
// shapes, if there is none.
absl::StatusOr<Shape> ReshapedShape(const Tensor& data, absl::Span<const int64_t> wanted,
                                    bool allow_zero);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SHAPE_RESHAPE_H_
