// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence/concat_from_sequence.h"

#include <utility>

#include "core/status.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Gives the tensors to the kernel of Concat.
class ConcatFromSequenceKernel final : public Kernel {
 public:
  ConcatFromSequenceKernel(ConcatFromSequence op, std::unique_ptr<Kernel> concat)
      : op_(std::move(op)), concat_(std::move(concat)) {}

  absl::string_view name() const override { return concat_->name(); }
  bool Accepts(const OpContext& context) const override {
    return MovesAsBytes(context.input(0).element_type());
  }
  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Tensor> operands, op_.Operands(context.input(0)));
    Tensor result;
    OpContext joined(operands, absl::MakeSpan(&result, 1), context.allocator());
    ATTNRUN_RETURN_IF_ERROR(concat_->Run(joined));
    context.SetOutput(0, std::move(result));
    return absl::OkStatus();
  }

 private:
  const ConcatFromSequence op_;
  const std::unique_ptr<Kernel> concat_;
};

}  // namespace

ConcatFromSequence::ConcatFromSequence(AttributeReader& attributes)
    : concat_(attributes), new_axis_(attributes.Int("new_axis", 0) != 0) {}

absl::StatusOr<std::vector<Tensor>> ConcatFromSequence::Operands(const Tensor& sequence) const {
  if (sequence.num_elements() == 0) {
    return absl::InvalidArgumentError(
        "expected a sequence of one or more tensors, but it is empty");
  }
  std::vector<Tensor> operands(sequence.tensors().begin(), sequence.tensors().end());
  if (!new_axis_) return operands;
  ATTNRUN_ASSIGN_OR_RETURN(const int axis,
                           NormalizeAxis(concat_.axis(), operands.front().rank() + 1));
  for (Tensor& operand : operands) {
    Shape shape = operand.shape();
    // Concat says what is wrong if the ranks differ.
    shape.insert(shape.begin() + std::min(axis, operand.rank()), 1);
    ATTNRUN_ASSIGN_OR_RETURN(operand, operand.Reshaped(shape));
  }
  return operands;
}

absl::Status ConcatFromSequence::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Tensor> operands, Operands(context.input(0)));
  Tensor result;
  OpContext joined(operands, absl::MakeSpan(&result, 1), context.allocator());
  ATTNRUN_RETURN_IF_ERROR(concat_.Reference(joined));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

void ConcatFromSequence::Infer(InferContext& context) const {
  context.SetOutput(0, {context.input(0).type, std::nullopt, std::nullopt});
}

absl::StatusOr<std::unique_ptr<Kernel>> ConcatFromSequence::MakeKernel(
    const KernelContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> concat, concat_.MakeKernel(context));
  return std::make_unique<ConcatFromSequenceKernel>(*this, std::move(concat));
}

}  // namespace attnrun::ops
