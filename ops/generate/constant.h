// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GENERATE_CONSTANT_H_
#define ATTNRUN_OPS_GENERATE_CONSTANT_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Constant-1 to -25: the tensor in the one attribute that is given: `value`, `sparse_value`
// (from version 11; the loader makes it dense), or from version 12 `value_int`, `value_ints`,
// `value_float`, `value_floats`, `value_string` or `value_strings`.
class Constant final : public Op {
 public:
  explicit Constant(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  absl::StatusOr<Tensor> value_;
};

// ONNX ConstantOfShape-9 to -25: a tensor whose shape is input 0 (int64 [n]), filled with the one
// element of `value` (default: float 0).
class ConstantOfShape final : public Op {
 public:
  explicit ConstantOfShape(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  absl::StatusOr<Tensor> value_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GENERATE_CONSTANT_H_
