// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/status.h"
#include "ops/gemm/int8_gemm.h"
#include "ops/linear/int8_linear.h"
#include "ops/linear/linear_rows.h"
#include "ops/tensors/bytes.h"

namespace attnrun::ops {
namespace {

// The weights as matrices, each with its part of the zero points (which may be undefined); `zeros`
// holds these parts. Precondition: they fit together.
std::vector<Int8Matrix> MatricesOf(const std::vector<Tensor>& weights, const Tensor& zero_point,
                                   std::vector<Tensor>& zeros) {
  zeros.assign(weights.size(), Tensor());
  std::vector<Int8Matrix> matrices;
  int64_t column = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t columns = weights[i].dim(1);
    matrices.push_back({&weights[i], 0, weights[i].dim(0), columns, nullptr});
    if (zero_point.defined()) {
      const bool one = zero_point.num_elements() == 1;
      const Shape shape = {one ? 1 : columns};
      zeros[i] = zero_point.View(shape, {one ? 0 : 1}, one ? 0 : column);
      matrices.back().zero_points = &zeros[i];
    }
    column += columns;
  }
  return matrices;
}

std::vector<Tensor> WeightsAmong(absl::Span<const Tensor> inputs) {
  std::vector<Tensor> weights;
  weights.reserve(Int8Linear::NumWeights(inputs.size()));
  for (int i = 0; i < Int8Linear::NumWeights(inputs.size()); ++i) {
    weights.push_back(inputs[Int8Linear::WeightInput(i)]);
  }
  return weights;
}

// True if Resolve will accept these constants.
bool FitTogether(const std::vector<Tensor>& weights, const Tensor& zero_point) {
  int64_t columns = 0;
  for (const Tensor& weight : weights) {
    if (!IsByte(weight.type()) || weight.type() != weights[0].type()) return false;
    if (weight.rank() != 2 || weight.dim(0) != weights[0].dim(0)) return false;
    columns += weight.dim(1);
  }
  if (!zero_point.defined()) return true;
  return zero_point.type() == weights[0].type() &&
         (zero_point.num_elements() == 1 || zero_point.shape() == Shape{columns});
}

class Int8LinearKernel final : public Kernel {
 public:
  // `weight`: the weights, packed with `zero_point`, which may be undefined.
  Int8LinearKernel(const Int8Linear& op, std::shared_ptr<const Int8Panels> weight,
                   bool has_zero_point)
      : op_(op), weight_(std::move(weight)), has_zero_point_(has_zero_point) {}

  absl::string_view name() const override { return Int8GemmName(weight_.get()); }

  // False for zero points that are computed: the weights were packed without them.
  bool Accepts(const OpContext& context) const override {
    return context.has_input(Int8Linear::kWeightZeroPoint) == has_zero_point_;
  }

  absl::Status Run(OpContext& context) const override {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const LinearShape shape, op_.Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kFloat, shape.output));
    if (y->num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor scales, ScalesOf(context, shape.n));
    Int8Epilogue out;
    out.c = y->mutable_data<float>();
    out.scales = scales.data<float>();
    out.epilogue.activation = op_.activation();
    if (context.has_input(Int8Linear::kBias)) {
      out.epilogue.bias = context.input(Int8Linear::kBias).data<float>();
    }
    Tensor residual;
    if (context.has_input(Int8Linear::kResidual)) {
      residual = context.input(Int8Linear::kResidual);
      ATTNRUN_ASSIGN_OR_RETURN(out.epilogue.residual, ResidualRows(residual, shape, allocator));
    }
    const int32_t zero = XZeroPoint(context);
    const Int8Rows x = {&context.input(Int8Linear::kX), 0, shape.m, shape.k, {&zero, 1}};
    return Int8Gemm(x, *weight_, out, allocator);
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<LinearShape> shape = op_.Resolve(context);
    return shape.ok() ? 2 * shape->m * shape->k * shape->n : 0;
  }

 private:
  static int32_t XZeroPoint(const OpContext& context) {
    if (!context.has_input(Int8Linear::kXZeroPoint)) return 0;
    const Tensor& zero = context.input(Int8Linear::kXZeroPoint);
    return ByteAt(zero, 0);
  }

  // The factors from S to Y: [N].
  static absl::StatusOr<Tensor> ScalesOf(const OpContext& context, int64_t columns) {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor scales,
                             Tensor::Allocate(DataType::kFloat, {columns}, context.allocator()));
    const float x_scale = *context.input(Int8Linear::kXScale).data<float>();
    const Tensor& w_scale = context.input(Int8Linear::kWeightScale);
    const int64_t step = w_scale.num_elements() == 1 ? 0 : 1;
    for (int64_t j = 0; j < columns; ++j) {
      scales.mutable_data<float>()[j] = x_scale * w_scale.data<float>()[j * step];
    }
    return scales;
  }

  const Int8Linear op_;
  const std::shared_ptr<const Int8Panels> weight_;
  const bool has_zero_point_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Int8Linear::MakeKernel(const KernelContext& context) const {
  if (context.constants.size() <= kWeightScale) return nullptr;
  const std::vector<Tensor> weights = WeightsAmong(context.constants);
  const Tensor zero_point =
      context.constants.size() > kWeightZeroPoint ? context.constants[kWeightZeroPoint] : Tensor();
  if (!FitTogether(weights, zero_point)) return nullptr;
  std::vector<Tensor> zeros;
  ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const Int8Panels> packed,
                           Int8Panels::PackShared(MatricesOf(weights, zero_point, zeros)));
  return std::make_unique<Int8LinearKernel>(*this, std::move(packed), zero_point.defined());
}

}  // namespace attnrun::ops
