// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SHAPE_DIMS_H_
#define ATTNRUN_OPS_SHAPE_DIMS_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Shape-1 to -25: the extents of axes [start, end) of the input, int64 [n]. `start` (0) and
// `end` (rank) exist from version 15 on; negative ones count from the end, and both are clamped.
class ShapeOp final : public Op {
 public:
  explicit ShapeOp(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t start_ = 0;
  int64_t end_;
};

// ONNX Size-1 to -25: the number of elements of the input as an int64 scalar.
class SizeOp final : public Op {
 public:
  explicit SizeOp(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SHAPE_DIMS_H_
