// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "ops/gemm/bf16_amx.h"
#include "ops/gemm/gemm.h"
#include "ops/linear/few_columns.h"
#include "ops/linear/float_linear.h"
#include "ops/linear/linear_rows.h"
#include "ops/linear/linear_weights.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

class FloatLinearKernel final : public Kernel {
 public:
  // `weight`: the packed weights if they are constant, else null. `columns`: the weights if they
  // are constant and have few columns.
  FloatLinearKernel(const FloatLinear& op, std::shared_ptr<const PackedMatrix> weight,
                    std::optional<FewColumns> columns)
      : op_(op), weight_(std::move(weight)), columns_(std::move(columns)) {}

  absl::string_view name() const override {
    return columns_.has_value() ? "highway" : GemmName(weight_.get());
  }
  Precision precision() const override { return GemmPrecision(weight_.get()); }
  bool accepts_strided() const override { return !columns_.has_value(); }
  bool can_store_bf16() const override { return UsesTiles(); }
  bool rounds_input(int i) const override { return i == Linear::kX && UsesTiles(); }

  bool Accepts(const OpContext& context) const override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (context.has_input(i) && !IsFloatOrHalf(context.input(i).type())) return false;
    }
    return true;
  }

  absl::Status Run(OpContext& context) const override {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const LinearShape shape, op_.Resolve(context));
    if (context.is_rounded(Linear::kX) || context.stores_bf16()) return RunRounded(context, shape);
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput y,
        FloatOutput::Allocate(context, 0, context.input(Linear::kX).type(), shape.output));
    if (y.num_elements() == 0) return absl::OkStatus();
    Tensor x = context.input(Linear::kX);
    ATTNRUN_ASSIGN_OR_RETURN(const MatrixView rows, RowsOf(x, shape.m, shape.k, allocator));
    ATTNRUN_ASSIGN_OR_RETURN(const EpilogueInputs inputs,
                             EpilogueInputs::Read(context, shape, op_.activation()));
    if (columns_.has_value()) {
      columns_->Multiply(rows, y.data(), inputs.epilogue());
    } else if (weight_ != nullptr) {
      Gemm(rows, *weight_, y.data(), shape.n, inputs.epilogue());
    } else {
      GemmProblem problem = {rows, {}, y.data(), shape.n, inputs.epilogue()};
      ATTNRUN_RETURN_IF_ERROR(MultiplyByInputs(context, problem));
    }
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override { return op_.Flops(context); }

 private:
  bool UsesTiles() const {
    return weight_ != nullptr && weight_->format() == WeightFormat::kBfloat16Tiles;
  }

  // Takes X rounded, or rounds Y, or both. Precondition: UsesTiles().
  absl::Status RunRounded(OpContext& context, const LinearShape& shape) const {
    Tensor x = context.input(Linear::kX);
    const bool rounded = context.is_rounded(Linear::kX);
    const DataType declared = context.declared_type(Linear::kX);
    const bool rounds = context.stores_bf16() && declared == DataType::kFloat;
    Tensor* halves = nullptr;
    std::optional<FloatOutput> floats;
    if (rounds) {
      ATTNRUN_ASSIGN_OR_RETURN(halves, context.AllocateRounded(shape.output));
    } else {
      ATTNRUN_ASSIGN_OR_RETURN(floats, FloatOutput::Allocate(context, 0, declared, shape.output));
    }
    if (shape.m * shape.n == 0) return absl::OkStatus();
    Bf16Rows rows;
    if (rounded) {
      ATTNRUN_ASSIGN_OR_RETURN(x, x.Dense(context.allocator()));
      rows = {{nullptr, shape.m, shape.k, shape.k}, x.data<uint16_t>()};
    } else {
      ATTNRUN_ASSIGN_OR_RETURN(rows.floats, RowsOf(x, shape.m, shape.k, context.allocator()));
    }
    ATTNRUN_ASSIGN_OR_RETURN(const EpilogueInputs inputs,
                             EpilogueInputs::Read(context, shape, op_.activation()));
    Bf16Output output = {nullptr, nullptr, shape.n};
    if (rounds) {
      output.halves = halves->mutable_data<uint16_t>();
    } else {
      output.floats = floats->data();
    }
    Bf16GemmOnAmx(rows, *weight_, output, inputs.epilogue());
    if (!rounds) floats->Store();
    return absl::OkStatus();
  }

  // The product with weights that are not packed.
  absl::Status MultiplyByInputs(const OpContext& context, GemmProblem& problem) const {
    ATTNRUN_ASSIGN_OR_RETURN(const FloatWeights weights,
                             FloatWeights::Read(op_, op_.Weights(context), context.allocator()));
    const SideBySide matrix = weights.Matrix();
    problem.b = weights.parts()[0];
    if (weights.parts().size() > 1) {
      problem.b = {nullptr, matrix.rows(), matrix.columns(), matrix.columns()};
      problem.b_source = &matrix;
    }
    BatchedGemm(1, [&](int64_t) { return problem; });
    return absl::OkStatus();
  }

  const FloatLinear op_;
  const std::shared_ptr<const PackedMatrix> weight_;
  const std::optional<FewColumns> columns_;
};

// The type of all weights, or float.
DataType StoredType(absl::Span<const Linear::Weight> weights) {
  const DataType type = weights[0].values.type();
  const bool same = absl::c_all_of(
      weights, [&](const Linear::Weight& weight) { return weight.values.type() == type; });
  return same ? type : DataType::kFloat;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> FloatLinear::MakeKernel(
    const KernelContext& context) const {
  std::shared_ptr<const PackedMatrix> packed;
  std::optional<FewColumns> columns;
  const LinearWeights<Tensor> weights = Weights(context);
  if (FitTogether(*this, weights)) {
    const SideBySide matrix = StoredWeights(*this, weights);
    if (context.precision == Precision::kFloat32 && FewColumns::Serves(matrix)) {
      columns.emplace(matrix);
    } else {
      ATTNRUN_ASSIGN_OR_RETURN(packed, PackedMatrix::Pack(matrix, context, StoredType(weights)));
    }
  }
  return std::make_unique<FloatLinearKernel>(*this, std::move(packed), std::move(columns));
}

}  // namespace attnrun::ops
