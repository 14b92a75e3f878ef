// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/status.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/nbit_product.h"
#include "ops/quantization/nbit/matmul_nbits.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

class MatMulNBitsKernel final : public Kernel {
 public:
  // `zero_points` and `groups`: true if those inputs were constants when the weight was checked and
  // packed.
  MatMulNBitsKernel(const MatMulNBits& op, std::shared_ptr<const NBitPanels> weight,
                    bool zero_points, bool groups, Precision precision)
      : op_(op),
        weight_(std::move(weight)),
        zero_points_(zero_points),
        groups_(groups),
        activations_(ActivationsFor(precision, *weight_)) {}

  absl::string_view name() const override { return NBitGemmName(activations_); }
  Precision precision() const override {
    return activations_ == NBitActivations::kInt8 ? Precision::kInt8Activations
                                                  : Precision::kFloat32;
  }

  bool Accepts(const OpContext& context) const override {
    // Inputs that are computed were not there when the weight was packed.
    return IsFloatOrHalf(context.input(MatMulNBits::kA).type()) &&
           context.has_input(MatMulNBits::kZeroPoints) == zero_points_ &&
           context.has_input(MatMulNBits::kGroups) == groups_;
  }

  absl::Status Run(OpContext& context) const override {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, op_.ResolveOutput(context));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor a, ToFloat(context.input(MatMulNBits::kA), allocator));
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput y,
        FloatOutput::Allocate(context, 0, context.input(MatMulNBits::kA).type(), shape));
    if (y.num_elements() == 0) return absl::OkStatus();
    Epilogue epilogue;
    Tensor bias;
    if (context.has_input(MatMulNBits::kBias)) {
      ATTNRUN_ASSIGN_OR_RETURN(bias, ToFloat(context.input(MatMulNBits::kBias), allocator));
      epilogue.bias = bias.data<float>();
    }
    const int64_t rows = y.num_elements() / op_.n();
    NBitGemm(activations_, {a.data<float>(), rows, op_.k(), op_.k()}, *weight_, y.data(), op_.n(),
             epilogue);
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    return 2 * context.input(MatMulNBits::kA).num_elements() * op_.n();
  }

 private:
  const MatMulNBits op_;
  const std::shared_ptr<const NBitPanels> weight_;
  const bool zero_points_;
  const bool groups_;
  const NBitActivations activations_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MatMulNBits::MakeKernel(
    const KernelContext& context) const {
  std::vector<Tensor> inputs(kBias + 1);
  for (size_t i = 0; i < context.constants.size(); ++i) {
    if (!context.constants[i].defined()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(inputs[i], context.constants[i].Dense(Allocator::Heap()));
  }
  if (!inputs[kCodes].defined() || !inputs[kScales].defined()) return nullptr;
  ATTNRUN_RETURN_IF_ERROR(CheckWeight([&](int i) { return inputs[i]; }));
  const NBitWeight weight = Weight([&](int i) { return inputs[i]; });
  ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const NBitPanels> packed,
                           PackSideBySide({weight}, context.packed_store));
  return std::make_unique<MatMulNBitsKernel>(*this, std::move(packed),
                                             inputs[kZeroPoints].defined(),
                                             inputs[kGroups].defined(), context.precision);
}

}  // namespace attnrun::ops
