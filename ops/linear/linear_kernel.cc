// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/status.h"
#include "ops/gemm/gemm.h"
#include "ops/linear/linear.h"
#include "ops/linear/linear_rows.h"
#include "ops/linear/linear_weights.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

class LinearKernel final : public Kernel {
 public:
  // `weight`: the packed weights if they are constant, else null.
  LinearKernel(const Linear& op, std::shared_ptr<const PackedMatrix> weight)
      : op_(op), weight_(std::move(weight)) {}

  absl::string_view name() const override { return weight_ == nullptr ? "gemm" : "gemm packed"; }
  bool accepts_strided() const override { return true; }

  bool Accepts(const OpContext& context) const override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (context.has_input(i) && !IsFloatOrHalf(context.input(i).type())) return false;
    }
    return true;
  }

  absl::Status Run(OpContext& context) const override {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const LinearShape shape, op_.Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput y,
        FloatOutput::Allocate(context, 0, context.input(Linear::kX).type(), shape.output));
    if (y.num_elements() == 0) return absl::OkStatus();
    Tensor x = context.input(Linear::kX);
    ATTNRUN_ASSIGN_OR_RETURN(const MatrixView rows, RowsOf(x, shape.m, shape.k, allocator));
    ATTNRUN_ASSIGN_OR_RETURN(const EpilogueInputs inputs,
                             EpilogueInputs::Read(context, shape, op_.activation()));
    if (weight_ != nullptr) {
      Gemm(rows, *weight_, y.data(), shape.n, inputs.epilogue());
    } else {
      GemmProblem problem = {rows, {}, y.data(), shape.n, inputs.epilogue()};
      ATTNRUN_RETURN_IF_ERROR(MultiplyByInputs(context, problem));
    }
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<LinearShape> shape = op_.Resolve(context);
    return shape.ok() ? 2 * shape->m * shape->k * shape->n : 0;
  }

 private:
  // The product with weights that are not packed.
  absl::Status MultiplyByInputs(const OpContext& context, GemmProblem& problem) const {
    const std::vector<Tensor> inputs =
        WeightsAmong(context.num_inputs(), [&](int i) { return context.input(i); });
    ATTNRUN_ASSIGN_OR_RETURN(const FloatWeights weights,
                             FloatWeights::Read(op_, inputs, context.allocator()));
    const SideBySide matrix = weights.Matrix();
    problem.b = matrix.parts()[0];
    if (matrix.parts().size() > 1) {
      problem.b = {nullptr, matrix.rows(), matrix.columns(), matrix.columns()};
      problem.b_source = &matrix;
    }
    BatchedGemm(1, [&](int64_t) { return problem; });
    return absl::OkStatus();
  }

  const Linear op_;
  const std::shared_ptr<const PackedMatrix> weight_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Linear::MakeKernel(const KernelContext& context) const {
  std::shared_ptr<const PackedMatrix> packed;
  const std::vector<Tensor> weights =
      WeightsAmong(context.constants.size(), [&](int i) { return context.constants[i]; });
  if (FitTogether(*this, weights)) {
    ATTNRUN_ASSIGN_OR_RETURN(const FloatWeights floats,
                             FloatWeights::Read(*this, weights, Allocator::Heap()));
    ATTNRUN_ASSIGN_OR_RETURN(packed, PackedMatrix::Pack(floats.Matrix(), context));
  }
  return std::make_unique<LinearKernel>(*this, std::move(packed));
}

}  // namespace attnrun::ops
