// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEQUENCE_SEQUENCE_H_
#define ATTNRUN_OPS_SEQUENCE_SEQUENCE_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// An operator that passes tensors on without looking at their elements.
class PassingOp : public Op {
 public:
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const final;
};

// ONNX SequenceConstruct-11 (N tensors of one type): the sequence of them.
class SequenceConstruct final : public PassingOp {
 public:
  explicit SequenceConstruct(AttributeReader& /*attributes*/) {}
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// ONNX SequenceEmpty-11 (): a sequence without tensors, of type `dtype` (default: float).
class SequenceEmpty final : public PassingOp {
 public:
  explicit SequenceEmpty(AttributeReader& attributes)
      : type_(attributes.ElementType("dtype", DataType::kFloat)) {}
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  DataType type_;
};

// ONNX SequenceInsert-11 (sequence of n, tensor, position?): the sequence with `tensor` at
// `position`, from -n to n; at the end if that is left out.
class SequenceInsert final : public PassingOp {
 public:
  explicit SequenceInsert(AttributeReader& /*attributes*/) {}
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// ONNX SequenceErase-11 (sequence of n, position?): the sequence without the tensor at `position`,
// from -n to n - 1; without the last one if that is left out.
class SequenceErase final : public PassingOp {
 public:
  explicit SequenceErase(AttributeReader& /*attributes*/) {}
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// ONNX SequenceAt-11 (sequence of n, position): the tensor at `position`, from -n to n - 1.
class SequenceAt final : public PassingOp {
 public:
  explicit SequenceAt(AttributeReader& /*attributes*/) {}
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// ONNX SequenceLength-11 (sequence): the number of its tensors, one int64.
class SequenceLength final : public PassingOp {
 public:
  explicit SequenceLength(AttributeReader& /*attributes*/) {}
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// ONNX Optional-15, -28 (element?): an optional with this element, or without one.
class Optional final : public PassingOp {
 public:
  explicit Optional(AttributeReader& attributes) { attributes.Ignore("type"); }
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// ONNX OptionalGetElement-15, -18, -28 (optional): its element. A tensor or a sequence is passed
// on.
class OptionalGetElement final : public PassingOp {
 public:
  explicit OptionalGetElement(AttributeReader& /*attributes*/) {}
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

// ONNX OptionalHasElement-15, -18, -28 (optional?): one bool, true if there is an element. An input
// that is left out, which version 15 does not allow, has none.
class OptionalHasElement final : public PassingOp {
 public:
  explicit OptionalHasElement(AttributeReader& attributes) {
    attributes.ExpectInputs(attributes.version() < 18 ? 1 : 0, 1);
  }
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEQUENCE_SEQUENCE_H_
