// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/status.h"
#include "ops/conv/conv.h"
#include "ops/conv/convolution.h"
#include "ops/conv/float_conv.h"

namespace attnrun::ops {
namespace {

// A typical shape of a call with these weights: a dozen windows along every axis, or many along a
// single one. kInvalidArgument if no shape fits.
absl::StatusOr<ConvShape> TypicalConv(const ConvAttributes& attributes, const Tensor& w) {
  if (w.rank() < 3) return absl::InvalidArgumentError("W has no spatial axis");
  const int64_t windows = w.rank() == 3 ? 1024 : 14;
  const auto at = [](const std::vector<int64_t>& values, size_t axis) {
    return axis < values.size() ? std::clamp<int64_t>(values[axis], 1, 1 << 20) : 1;
  };
  Shape x = {1, w.dim(1) * std::clamp<int64_t>(attributes.group, 1, 1 << 20)};
  for (int axis = 2; axis < w.rank(); ++axis) {
    x.push_back(windows * at(attributes.window.strides, axis - 2) +
                w.dim(axis) * at(attributes.window.dilations, axis - 2));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor tensor, TypicalConvInput(x, w));
  return ResolveConv(attributes, tensor, w, nullptr);
}

class ConvKernel final : public Kernel {
 public:
  ConvKernel(const ConvAttributes& attributes, bool constant_weight)
      : attributes_(attributes), convolution_(constant_weight) {}

  absl::string_view name() const override { return convolution_.name(); }
  Precision precision() const override { return convolution_.precision(); }

  bool Accepts(const OpContext& context) const override {
    return HasFloatConvTypes(context) && Resolve(context).ok();
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const ConvShape shape, Resolve(context));
    return RunFloatConv(context, shape.output, [&](Convolution::Operands operands) -> absl::Status {
      Allocator& allocator = context.allocator();
      ATTNRUN_ASSIGN_OR_RETURN(const bool done,
                               convolution_.RunPrepared(shape, operands, allocator));
      if (done) return absl::OkStatus();
      FloatConvWeight weight(context);
      ATTNRUN_ASSIGN_OR_RETURN(operands.w, weight.Get());
      return convolution_.Run(shape, operands, allocator);
    });
  }

  // Packs a constant weight.
  absl::Status Prepare(const Tensor& weight, bool bias, const KernelContext& context) {
    if (weight.num_elements() == 0) return absl::OkStatus();
    const absl::StatusOr<ConvShape> shape = TypicalConv(attributes_, weight);
    // The node's calls report an invalid shape.
    if (!shape.ok()) return absl::OkStatus();
    return convolution_.Prepare(*shape, weight, bias, context);
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<ConvShape> shape = Resolve(context);
    return shape.ok() ? shape->flops() : 0;
  }

 private:
  absl::StatusOr<ConvShape> Resolve(const OpContext& context) const {
    return ResolveConv(attributes_, context.input(0), context.input(1), ConvBias(context));
  }

  const ConvAttributes attributes_;
  Convolution convolution_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Conv::MakeKernel(const KernelContext& context) const {
  const Tensor weight = ConstantConvWeight(context);
  auto kernel = std::make_unique<ConvKernel>(attributes_, weight.defined());
  if (weight.defined()) {
    const bool bias = context.constants.size() > 2 && context.constants[2].defined();
    ATTNRUN_RETURN_IF_ERROR(kernel->Prepare(weight, bias, context));
  }
  return kernel;
}

}  // namespace attnrun::ops
