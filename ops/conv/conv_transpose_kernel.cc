// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/status.h"
#include "ops/conv/conv.h"
#include "ops/conv/convolution.h"
#include "ops/conv/float_conv.h"
#include "ops/conv/phase_assembly.h"
#include "ops/conv/transposed_parts.h"
#include "ops/tensors/float_operands.h"

namespace attnrun::ops {
namespace {

// A typical shape of a call with these weights: a dozen positions along every axis of x, or many
// along a single one. kInvalidArgument if no shape fits.
absl::StatusOr<ConvShape> TypicalShape(const ConvTranspose& op, const Tensor& w) {
  if (w.rank() < 3) return absl::InvalidArgumentError("W has no spatial axis");
  Shape x = {1, w.dim(0)};
  for (int axis = 2; axis < w.rank(); ++axis) x.push_back(w.rank() == 3 ? 256 : 14);
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor tensor, TypicalConvInput(x, w));
  return op.Resolve(tensor, w, nullptr);
}

// One of the convolutions that make up y.
struct PackedPart {
  TransposedPart part;
  std::unique_ptr<Convolution> convolution;
};

// The weights of a part, which the tensor owns.
absl::StatusOr<Tensor> TensorOfWeights(const TransposedPart& part, const ConvShape& transposed,
                                       const float* w) {
  const auto weights = std::make_shared<const std::vector<float>>(part.WeightsOf(transposed, w));
  return Tensor::Borrow(DataType::kFloat, {std::ssize(*weights)}, weights->data(),
                        weights->size() * sizeof(float), weights);
}

// y is a few convolutions, whose outputs are interleaved (see TransposedPart).
class ConvTransposeKernel final : public Kernel {
 public:
  explicit ConvTransposeKernel(ConvTranspose op) : op_(std::move(op)) {}

  absl::string_view name() const override {
    return parts_.empty() ? "onednn or gemm" : parts_[0].convolution->name();
  }
  Precision precision() const override {
    return parts_.empty() ? Precision::kFloat32 : parts_[0].convolution->precision();
  }

  bool Accepts(const OpContext& context) const override {
    if (!HasFloatConvTypes(context)) return false;
    const absl::StatusOr<ConvShape> shape = Resolve(context);
    return shape.ok() && context.input(0).num_elements() > 0 && IsModest(*shape);
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const ConvShape shape, Resolve(context));
    return RunFloatConv(context, shape.output, [&](const Convolution::Operands& operands) {
      FloatConvWeight weight(context);
      return Convolve(shape, operands, weight, context.allocator());
    });
  }

  // Packs a constant weight.
  absl::Status Prepare(const Tensor& weight, bool bias, const KernelContext& context) {
    if (weight.num_elements() == 0) return absl::OkStatus();
    const absl::StatusOr<ConvShape> typical = TypicalShape(op_, weight);
    // The node's calls report an invalid shape.
    if (!typical.ok() || !IsModest(*typical)) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor floats, ToFloat(weight, Allocator::Heap()));
    for (TransposedPart& part : PartsOf(*typical)) {
      ATTNRUN_ASSIGN_OR_RETURN(const Tensor weights,
                               TensorOfWeights(part, *typical, floats.data<float>()));
      Shape first_steps;
      const ConvShape shape = part.ShapeOf(*typical, first_steps);
      auto convolution = std::make_unique<Convolution>(/*constant_weights=*/true);
      ATTNRUN_RETURN_IF_ERROR(convolution->Prepare(shape, weights, bias, context));
      parts_.push_back({std::move(part), std::move(convolution)});
    }
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<ConvShape> shape = Resolve(context);
    if (!shape.ok()) return 0;
    return 2 * shape->n * shape->c * shape->input_size * (shape->m / shape->group) *
           shape->kernel_size;
  }

 private:
  absl::StatusOr<ConvShape> Resolve(const OpContext& context) const {
    return op_.Resolve(context.input(0), context.input(1), ConvBias(context));
  }

  // True if there are not absurdly many phases.
  static bool IsModest(const ConvShape& shape) {
    constexpr int64_t kMostPhases = 4096;
    int64_t phases = 1;
    for (const int64_t stride : shape.window.strides) {
      if (stride > kMostPhases / phases) return false;
      phases *= stride;
    }
    return true;
  }

  // True if y has a single phase. Its convolution may have steps that y lacks.
  static bool IsOneConvolution(const ConvShape& shape) {
    return std::all_of(shape.window.strides.begin(), shape.window.strides.end(),
                       [](int64_t stride) { return stride == 1; });
  }

  absl::Status Convolve(const ConvShape& shape, const Convolution::Operands& operands,
                        FloatConvWeight& weight, Allocator& allocator) const {
    if (!parts_.empty()) return Convolve(shape, operands, weight, parts_, allocator);
    std::vector<PackedPart> parts;
    for (TransposedPart& part : PartsOf(shape)) {
      parts.push_back({std::move(part), std::make_unique<Convolution>(/*constant_weights=*/false)});
    }
    return Convolve(shape, operands, weight, parts, allocator);
  }

  static absl::Status Convolve(const ConvShape& shape, const Convolution::Operands& operands,
                               FloatConvWeight& weight, absl::Span<const PackedPart> parts,
                               Allocator& allocator) {
    PhaseAssembly assembly(shape);
    std::vector<Tensor> results;
    for (const PackedPart& part : parts) {
      Shape first_steps;
      const ConvShape conv = part.part.ShapeOf(shape, first_steps);
      if (IsOneConvolution(shape) && conv.output == shape.output) {
        return RunPart(part, shape, conv, operands, weight, allocator);
      }
      ATTNRUN_ASSIGN_OR_RETURN(Tensor result,
                               Tensor::Allocate(DataType::kFloat, conv.output, allocator));
      ATTNRUN_RETURN_IF_ERROR(RunPart(
          part, shape, conv, {operands.x, nullptr, operands.bias, result.mutable_data<float>()},
          weight, allocator));
      assembly.Add(part.part, conv, first_steps, result.data<float>());
      results.push_back(std::move(result));
    }
    assembly.Write(operands.bias, operands.y);
    return absl::OkStatus();
  }

  // Computes one of the convolutions, `conv`, from the transposed convolution's x, W and bias.
  static absl::Status RunPart(const PackedPart& part, const ConvShape& transposed,
                              const ConvShape& conv, Convolution::Operands operands,
                              FloatConvWeight& weight, Allocator& allocator) {
    std::vector<float> bias;
    if (operands.bias != nullptr) {
      const int64_t phases = part.part.phases();
      bias.resize(conv.m);
      for (int64_t i = 0; i < conv.m; ++i) bias[i] = operands.bias[i / phases];
      operands.bias = bias.data();
    }
    ATTNRUN_ASSIGN_OR_RETURN(const bool done,
                             part.convolution->RunPrepared(conv, operands, allocator));
    if (done) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const float* const w, weight.Get());
    const std::vector<float> weights = part.part.WeightsOf(transposed, w);
    operands.w = weights.data();
    return part.convolution->Run(conv, operands, allocator);
  }

  const ConvTranspose op_;
  // Empty unless the weights are constant.
  std::vector<PackedPart> parts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> ConvTranspose::MakeKernel(
    const KernelContext& context) const {
  const Tensor weight = ConstantConvWeight(context);
  auto kernel = std::make_unique<ConvTransposeKernel>(*this);
  if (weight.defined()) {
    const bool bias = context.constants.size() > 2 && context.constants[2].defined();
    ATTNRUN_RETURN_IF_ERROR(kernel->Prepare(weight, bias, context));
  }
  return kernel;
}

}  // namespace attnrun::ops
