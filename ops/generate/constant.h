// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GENERATE_CONSTANT_H_
#define ATTNRUN_OPS_GENERATE_CONSTANT_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Constant-1 to -25: the tensor held by the one attribute of `value`, `sparse_value` (11; made
// dense by whoever read the file), `value_int`, `value_ints`, `value_float`, `value_floats`,
// `value_string` and `value_strings` (12) that is given.
class Constant final : public Op {
 public:
  explicit Constant(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

 private:
  absl::StatusOr<Tensor> value_;
};

// ONNX ConstantOfShape-9 to -25: a tensor of the shape given by input 0 (int64[n]), every element
// that of `value`, a tensor of one element, a float 0 if absent.
class ConstantOfShape final : public Op {
 public:
  explicit ConstantOfShape(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

 private:
  absl::StatusOr<Tensor> value_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GENERATE_CONSTANT_H_
