// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_IDENTITY_H_
#define ATTNRUN_OPS_ELEMENTWISE_IDENTITY_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

// ONNX Identity-1 to -25 on tensors: the input itself, of any type.
class Identity final : public Op {
 public:
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;
};

// ONNX Dropout-7, -10, -12, -13, -22 in inference: the input itself, and a mask of ones (bool;
// before version 10 of the type of the input). From version 12 on an input may ask for training:
// kUnimplemented unless the ratio is 0.
class Dropout final : public Op {
 public:
  explicit Dropout(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  const bool mask_is_bool_;
};

// ONNX BitCast-26: the same bits as another type of the same width; any type but string.
class BitCast final : public Op {
 public:
  explicit BitCast(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  const DataType to_;
};

void RegisterIdentity(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_IDENTITY_H_
