// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/linear/gated_activation_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include <algorithm>

#include "hwy/highway.h"
#include "ops/gemm/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {

// out = activation(gate) * up, in pieces that stay in the first-level cache between the two steps.
void GateRow(const Activation& activation, const float* HWY_RESTRICT gate,
             const float* HWY_RESTRICT up, int64_t n, float* HWY_RESTRICT out) {
  constexpr int64_t kPiece = 1024;
  for (int64_t first = 0; first < n; first += kPiece) {
    const int64_t count = std::min(kPiece, n - first);
    float* piece = out + first;
    std::copy_n(gate + first, count, piece);
    ActivateTile(activation, {piece, count, 1, count});
    for (int64_t i = 0; i < count; ++i) piece[i] *= up[first + i];
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/parallel.h"
#include "core/status.h"
#include "ops/linear/gated_activation.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(GateRow);

class GatedActivationKernel final : public Kernel {
 public:
  GatedActivationKernel(const GatedActivation& op, Precision precision)
      : op_(op), activation_(op.activation()) {
    activation_.is_rough = precision == Precision::kBfloat16 || precision == Precision::kInt8;
  }

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    return IsFloatOrHalf(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, op_.Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(context.input(0), context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                             FloatOutput::Allocate(context, 0, context.input(0).type(), shape));
    if (y.num_elements() == 0) return absl::OkStatus();
    constexpr int64_t kElementsPerPiece = 8192;
    const int64_t width = op_.width();
    const int64_t columns = x.shape().back();
    const auto* in = x.data<float>();
    float* out = y.data();
    ParallelFor(y.num_elements() / width, kElementsPerPiece / width + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const float* from = in + row * columns;
                    HWY_DYNAMIC_DISPATCH(GateRow)
                    (activation_, from + op_.gate(), from + op_.up(), width, out + row * width);
                  }
                });
    y.Store();
    return absl::OkStatus();
  }

 private:
  const GatedActivation op_;
  Activation activation_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> GatedActivation::MakeKernel(
    const KernelContext& context) const {
  return std::make_unique<GatedActivationKernel>(*this, context.precision);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
