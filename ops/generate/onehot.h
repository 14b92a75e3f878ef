// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GENERATE_ONEHOT_H_
#define ATTNRUN_OPS_GENERATE_ONEHOT_H_

#include <memory>
#include <optional>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX OneHot-9, -11, -28 (indices, depth, values [2]): the indices' shape with an axis of extent
// `depth` inserted at `axis` (-1: last); values[1] where the position along it is the index,
// values[0] elsewhere. Negative indices count from the end; an index outside [-depth, depth) marks
// nothing. Indices and depth of any type of numbers are truncated to integers.
class OneHot final : public Op {
 public:
  explicit OneHot(AttributeReader& attributes) : axis_(attributes.Int("axis", -1)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t axis_;
};

// ONNX EyeLike-9, -22: a matrix of the input's shape, 1 where column - row is `k`, else 0, of type
// `dtype` (default: the input's).
class EyeLike final : public Op {
 public:
  explicit EyeLike(AttributeReader& attributes)
      : type_(attributes.ElementType("dtype", DataType::kUndefined)), k_(attributes.Int("k", 0)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  DataType type_;
  int64_t k_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GENERATE_ONEHOT_H_
