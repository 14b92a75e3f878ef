// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/status.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/nbit_product.h"
#include "ops/linear/linear_rows.h"
#include "ops/linear/nbit_linear.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

class NBitLinearKernel final : public Kernel {
 public:
  // `packed`: `weights` with their zero points.
  NBitLinearKernel(const NBitLinear& op, absl::Span<const Linear::Weight> weights,
                   std::shared_ptr<const NBitPanels> packed, Precision precision)
      : op_(op),
        have_zero_points_(HaveZeroPoints(weights)),
        weight_(std::move(packed)),
        activations_(ActivationsFor(precision, *weight_)) {}

  absl::string_view name() const override { return NBitGemmName(activations_); }
  Precision precision() const override {
    return activations_ == NBitActivations::kInt8 ? Precision::kInt8Activations
                                                  : Precision::kFloat32;
  }
  bool accepts_strided() const override { return true; }

  bool Accepts(const OpContext& context) const override {
    return HaveZeroPoints(op_.Weights(context)) == have_zero_points_ &&
           op_.ResolveRows(context, weight_->columns()).ok();
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const LinearShape shape, op_.ResolveRows(context, weight_->columns()));
    Tensor x = context.input(NBitLinear::kX);
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                             FloatOutput::Allocate(context, 0, x.type(), shape.output));
    if (y.num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const MatrixView rows,
                             RowsOf(x, shape.m, shape.k, context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(const EpilogueInputs inputs,
                             EpilogueInputs::Read(context, shape, op_.activation()));
    NBitGemm(activations_, rows, *weight_, y.data(), shape.n, inputs.epilogue());
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    return 2 * context.input(NBitLinear::kX).num_elements() * weight_->columns();
  }

 private:
  const NBitLinear op_;
  const std::vector<bool> have_zero_points_;
  const std::shared_ptr<const NBitPanels> weight_;
  const NBitActivations activations_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> NBitLinear::MakeKernel(const KernelContext& context) const {
  const LinearWeights<Tensor> weights = Weights(context);
  std::vector<NBitWeight> codes;
  for (const Weight& weight : weights) {
    codes.push_back(AsNBit(weight));
    // The reference code says what is wrong with it.
    if (!codes.back().Check().ok()) return nullptr;
  }
  ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const NBitPanels> packed,
                           PackSideBySide(codes, context.packed_store));
  return std::make_unique<NBitLinearKernel>(*this, weights, std::move(packed), context.precision);
}

}  // namespace attnrun::ops
