// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/nbit_int8.h"
#include "ops/linear/linear_rows.h"
#include "ops/linear/nbit_linear.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

class NBitLinearKernel final : public Kernel {
 public:
  // `has_zero_points`: for each weight, true if it was packed with zero points.
  NBitLinearKernel(const NBitLinear& op, std::shared_ptr<const NBitPanels> weight,
                   std::vector<bool> has_zero_points, Precision precision)
      : op_(op),
        weight_(std::move(weight)),
        has_zero_points_(std::move(has_zero_points)),
        rounds_(RoundsActivations(precision, *weight_)) {}

  absl::string_view name() const override { return NBitGemmName(rounds_); }
  Precision precision() const override {
    return rounds_ ? Precision::kInt8Activations : Precision::kFloat32;
  }
  bool accepts_strided() const override { return true; }

  bool Accepts(const OpContext& context) const override {
    // False for zero points that are computed: the weights were packed without them.
    for (size_t i = 0; i < has_zero_points_.size(); ++i) {
      const int input = NBitLinear::InputsOf(static_cast<int>(i)).zero_points;
      const bool has = input < context.num_inputs() && context.has_input(input);
      if (has != has_zero_points_[i]) return false;
    }
    return op_.ResolveOutput(context, weight_->columns()).ok();
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const LinearShape shape,
                             op_.ResolveOutput(context, weight_->columns()));
    Tensor x = context.input(NBitLinear::kX);
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                             FloatOutput::Allocate(context, 0, x.type(), shape.output));
    if (y.num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const MatrixView rows,
                             RowsOf(x, shape.m, shape.k, context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(const EpilogueInputs inputs,
                             EpilogueInputs::Read(context, shape, op_.activation()));
    NBitGemm(rounds_, rows, *weight_, y.data(), shape.n, inputs.epilogue());
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    return 2 * context.input(NBitLinear::kX).num_elements() * weight_->columns();
  }

 private:
  const NBitLinear op_;
  const std::shared_ptr<const NBitPanels> weight_;
  const std::vector<bool> has_zero_points_;
  const bool rounds_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> NBitLinear::MakeKernel(const KernelContext& context) const {
  const std::vector<NBitWeight> weights =
      Weights(context.constants.size(), [&](int i) { return context.constants[i]; });
  // The reference code runs the others and says what is wrong with them.
  if (!absl::c_all_of(weights, [](const NBitWeight& weight) { return weight.Check().ok(); })) {
    return nullptr;
  }
  std::vector<bool> has_zero_points;
  for (const NBitWeight& weight : weights) has_zero_points.push_back(weight.zero_points.defined());
  ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const NBitPanels> packed, PackSideBySide(weights));
  return std::make_unique<NBitLinearKernel>(*this, std::move(packed), std::move(has_zero_points),
                                            context.precision);
}

}  // namespace attnrun::ops
