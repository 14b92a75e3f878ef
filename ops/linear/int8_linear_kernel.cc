// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "ops/gemm/int8_gemm.h"
#include "ops/linear/int8_linear.h"
#include "ops/linear/linear_rows.h"
#include "ops/tensors/bytes.h"

namespace attnrun::ops {
namespace {

// The weights as matrices. Precondition: they fit together.
std::vector<Int8Matrix> MatricesOf(absl::Span<const Linear::Weight> weights) {
  std::vector<Int8Matrix> matrices;
  for (const Linear::Weight& weight : weights) {
    const Tensor& values = weight.values;
    const Tensor* const zeros = weight.zero_points.defined() ? &weight.zero_points : nullptr;
    matrices.push_back({&values, 0, values.dim(0), values.dim(1), zeros});
  }
  return matrices;
}

// True if Resolve will accept these constants.
bool FitTogether(absl::Span<const Linear::Weight> weights) {
  const Tensor& first = weights[0].values;
  return absl::c_all_of(weights, [&](const Linear::Weight& weight) {
    const Tensor& values = weight.values;
    const Tensor& zeros = weight.zero_points;
    if (!IsByte(values.type()) || values.type() != first.type()) return false;
    if (values.rank() != 2 || values.dim(0) != first.dim(0)) return false;
    if (!zeros.defined()) return true;
    return zeros.type() == values.type() &&
           (zeros.num_elements() == 1 || zeros.shape() == Shape{values.dim(1)});
  });
}

class Int8LinearKernel final : public Kernel {
 public:
  // `packed`: `weights` with their zero points.
  Int8LinearKernel(const Int8Linear& op, absl::Span<const Linear::Weight> weights,
                   std::shared_ptr<const Int8Panels> packed)
      : op_(op), have_zero_points_(HaveZeroPoints(weights)), weight_(std::move(packed)) {}

  absl::string_view name() const override { return Int8GemmName(weight_.get()); }

  bool Accepts(const OpContext& context) const override {
    return HaveZeroPoints(op_.Weights(context)) == have_zero_points_;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const LinearShape shape, op_.Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kFloat, shape.output));
    if (y->num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor scales, ScalesOf(context, shape.n));
    Int8Epilogue out;
    out.c = y->mutable_data<float>();
    out.scales = scales.data<float>();
    ATTNRUN_ASSIGN_OR_RETURN(const EpilogueInputs inputs,
                             EpilogueInputs::Read(context, shape, op_.activation()));
    out.epilogue = inputs.epilogue();
    const int32_t zero = XZeroPoint(context);
    const Int8Rows x = {&context.input(Int8Linear::kX), 0, shape.m, shape.k, {&zero, 1}};
    Int8Gemm(x, *weight_, out);
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override { return op_.Flops(context); }

 private:
  static int32_t XZeroPoint(const OpContext& context) {
    if (!context.has_input(Int8Linear::kXZeroPoint)) return 0;
    const Tensor& zero = context.input(Int8Linear::kXZeroPoint);
    return ByteAt(zero, 0);
  }

  // The factors from S to Y: [N].
  absl::StatusOr<Tensor> ScalesOf(const OpContext& context, int64_t columns) const {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor scales,
                             Tensor::Allocate(DataType::kFloat, {columns}, context.allocator()));
    auto* scale = scales.mutable_data<float>();
    const float x_scale = *context.input(Int8Linear::kXScale).data<float>();
    for (const Linear::Weight& weight : op_.Weights(context)) {
      const int64_t step = weight.scales.num_elements() == 1 ? 0 : 1;
      for (int64_t j = 0; j < weight.values.dim(1); ++j) {
        *scale++ = x_scale * weight.scales.data<float>()[j * step];
      }
    }
    return scales;
  }

  const Int8Linear op_;
  const std::vector<bool> have_zero_points_;
  const std::shared_ptr<const Int8Panels> weight_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Int8Linear::MakeKernel(const KernelContext& context) const {
  const LinearWeights<Tensor> weights = Weights(context);
  if (!FitTogether(weights)) return nullptr;
  ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const Int8Panels> packed,
                           Int8Panels::PackShared(MatricesOf(weights), context.packed_store));
  return std::make_unique<Int8LinearKernel>(*this, weights, std::move(packed));
}

}  // namespace attnrun::ops
