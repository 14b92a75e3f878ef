// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_replace.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/einsum/contraction.h"
#include "ops/gemm/gemm.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// The stack of matrices that Multiply writes: the output itself or a buffer.
struct OutputStack {
  float* data;
  int64_t row_stride;
  std::vector<int64_t> offsets;
};

absl::StatusOr<EinsumShape> Resolve(absl::string_view equation, const OpContext& context) {
  return ResolveEinsum(equation, {context.input(0).shape(), context.input(1).shape()});
}

// Multiplies two operands with GEMMs on views of them.
class EinsumKernel final : public Kernel {
 public:
  // `weight`: the second operand, packed, if it is constant, holds the columns and shares only
  // summed labels with the first; else null.
  EinsumKernel(std::string equation, std::shared_ptr<const PackedMatrix> weight)
      : equation_(std::move(equation)), weight_(std::move(weight)) {}

  absl::string_view name() const override { return GemmName(weight_.get()); }
  Precision precision() const override { return GemmPrecision(weight_.get()); }

  bool Accepts(const OpContext& context) const override {
    if (context.num_inputs() != 2) return false;
    const DataType type = context.input(0).type();
    if (!IsFloatOrHalf(type) || context.input(1).type() != type) return false;
    const absl::StatusOr<EinsumShape> shape = Resolve(equation_, context);
    return shape.ok() && Contraction::Of(*shape).has_value();
  }

  absl::Status Run(OpContext& context) const override {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const EinsumShape shape, Resolve(equation_, context));
    const std::optional<Contraction> plan = Contraction::Of(shape);
    if (!plan.has_value()) return absl::InternalError("not a contraction of two operands");
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput y,
        FloatOutput::Allocate(context, 0, context.input(0).type(), shape.output_shape));
    if (y.num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor a, ToFloat(context.input(plan->left), allocator));
    ATTNRUN_ASSIGN_OR_RETURN(
        const OperandStack left,
        OperandStack::Make(shape, plan->left, a, plan->batch, plan->rows, plan->depth, allocator));
    OperandStack right;
    if (!UsesWeight(left)) {
      ATTNRUN_ASSIGN_OR_RETURN(const Tensor b, ToFloat(context.input(plan->right), allocator));
      ATTNRUN_ASSIGN_OR_RETURN(right, OperandStack::Make(shape, plan->right, b, plan->batch,
                                                         plan->depth, plan->columns, allocator));
    }
    ATTNRUN_RETURN_IF_ERROR(Compute(shape, *plan, left, right, y.data(), allocator));
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<EinsumShape> shape = Resolve(equation_, context);
    if (!shape.ok()) return 0;
    int64_t flops = 2;
    for (const auto& [label, extent] : shape->extents) flops *= extent;
    return flops;
  }

 private:
  bool UsesWeight(const OperandStack& left) const {
    return weight_ != nullptr && left.first.columns == weight_->rows();
  }

  // Writes straight into the output if its rows are contiguous, else by way of a buffer whose rows
  // are.
  absl::Status Compute(const EinsumShape& shape, const Contraction& plan, const OperandStack& left,
                       const OperandStack& right, float* y, Allocator& allocator) const {
    const auto strides_of = [&](const Labels& labels) {
      return LabelStrides(shape.output, shape.output_shape, labels);
    };
    const auto row_stride = CollapsedStride(Extents(shape, plan.rows), strides_of(plan.rows));
    const auto column_stride =
        CollapsedStride(Extents(shape, plan.columns), strides_of(plan.columns));
    if (row_stride.has_value() && column_stride == 1) {
      OutputStack output = {y, *row_stride, {}};
      ForEachOffset(Extents(shape, plan.batch), strides_of(plan.batch),
                    [&](int64_t offset) { output.offsets.push_back(offset); });
      Multiply(left, right, output);
      return absl::OkStatus();
    }
    Labels order = plan.batch;
    order.insert(order.end(), plan.rows.begin(), plan.rows.end());
    order.insert(order.end(), plan.columns.begin(), plan.columns.end());
    const Shape extents = Extents(shape, order);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor dense, Tensor::Allocate(DataType::kFloat, extents, allocator));
    const auto count = static_cast<int64_t>(left.offsets.size());
    const int64_t columns = dense.num_elements() / (count * left.first.rows);
    OutputStack output = {dense.mutable_data<float>(), columns, {}};
    for (int64_t i = 0; i < count; ++i) output.offsets.push_back(i * left.first.rows * columns);
    Multiply(left, right, output);
    const auto* from = dense.data<float>();
    ForEachOffset(extents, strides_of(order), [&](int64_t offset) { y[offset] = *from++; });
    return absl::OkStatus();
  }

  void Multiply(const OperandStack& left, const OperandStack& right,
                const OutputStack& output) const {
    if (UsesWeight(left)) {
      Gemm(left.at(0), *weight_, output.data, output.row_stride, {});
      return;
    }
    BatchedGemm(static_cast<int64_t>(output.offsets.size()), [&](int64_t i) {
      return GemmProblem{left.at(i), right.at(i), output.data + output.offsets[i],
                         output.row_stride};
    });
  }

  const std::string equation_;
  const std::shared_ptr<const PackedMatrix> weight_;
};

// The second operand, packed, if its labels alone decide how it is used; else null.
absl::StatusOr<std::shared_ptr<const PackedMatrix>> PackWeight(absl::string_view equation,
                                                               const KernelContext& context) {
  const Tensor& weight = context.constants[1];
  const std::string text = absl::StrReplaceAll(equation, {{" ", ""}});
  const size_t comma = text.find(',');
  if (!IsFloatOrHalf(weight.type()) || comma == std::string::npos ||
      absl::c_linear_search(text, '.')) {
    return nullptr;
  }
  // Extents of 1 fit any extent of the other operand.
  const absl::StatusOr<EinsumShape> shape =
      ResolveEinsum(equation, {Shape(comma, 1), weight.shape()});
  if (!shape.ok()) return nullptr;
  const std::optional<Contraction> plan = Contraction::Of(*shape);
  if (!plan.has_value() || plan->right != 1 || !plan->batch.empty()) return nullptr;
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor floats, ToFloat(weight, Allocator::Heap()));
  ATTNRUN_ASSIGN_OR_RETURN(
      const OperandStack stack,
      OperandStack::Make(*shape, 1, floats, {}, plan->depth, plan->columns, Allocator::Heap()));
  return PackedMatrix::Pack(stack.at(0), context);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Einsum::MakeKernel(const KernelContext& context) const {
  if (context.constants.size() != 2) return nullptr;
  std::shared_ptr<const PackedMatrix> weight;
  if (context.constants[1].defined()) {
    ATTNRUN_ASSIGN_OR_RETURN(weight, PackWeight(equation_, context));
  }
  return std::make_unique<EinsumKernel>(equation_, std::move(weight));
}

}  // namespace attnrun::ops
