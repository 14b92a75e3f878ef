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
  // Empty if they are packed.
  std::vector<float> weights;
};

// y is a few convolutions, whose outputs are interleaved (see TransposedPart).
class ConvTransposeKernel final : public Kernel {
 public:
  // `weight`: W as floats if it is constant, else undefined.
  ConvTransposeKernel(ConvTranspose op, Tensor weight)
      : op_(std::move(op)), weight_(std::move(weight)) {}

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
    return RunFloatConv(context, weight_, shape.output, [&](const Convolution::Operands& operands) {
      return Convolve(shape, operands, context.allocator());
    });
  }

  // Packs constant weights.
  absl::Status Prepare(bool bias, const KernelContext& context) {
    if (!weight_.defined() || weight_.num_elements() == 0) return absl::OkStatus();
    const absl::StatusOr<ConvShape> typical = TypicalShape(op_, weight_);
    // The node's calls report an invalid shape.
    if (!typical.ok() || !IsModest(*typical)) return absl::OkStatus();
    for (TransposedPart& part : PartsOf(*typical)) {
      ATTNRUN_ASSIGN_OR_RETURN(PackedPart made, MakePart(std::move(part), *typical, bias, context));
      parts_.push_back(std::move(made));
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

  absl::StatusOr<PackedPart> MakePart(TransposedPart part, const ConvShape& typical, bool bias,
                                      const KernelContext& context) const {
    PackedPart made = {
        std::move(part), std::make_unique<Convolution>(/*constant_weights=*/true), {}};
    made.weights = made.part.WeightsOf(typical, weight_.data<float>());
    Shape first_steps;
    ATTNRUN_RETURN_IF_ERROR(made.convolution->Prepare(made.part.ShapeOf(typical, first_steps),
                                                      made.weights.data(), bias, context));
    if (made.convolution->is_packed()) made.weights = {};
    return made;
  }

  absl::Status Convolve(const ConvShape& shape, const Convolution::Operands& operands,
                        Allocator& allocator) const {
    if (!parts_.empty()) return Convolve(shape, operands, parts_, allocator);
    std::vector<PackedPart> parts;
    for (TransposedPart& part : PartsOf(shape)) {
      parts.push_back(
          {std::move(part), std::make_unique<Convolution>(/*constant_weights=*/false), {}});
    }
    return Convolve(shape, operands, parts, allocator);
  }

  static absl::Status Convolve(const ConvShape& shape, const Convolution::Operands& operands,
                               absl::Span<const PackedPart> parts, Allocator& allocator) {
    PhaseAssembly assembly(shape);
    std::vector<Tensor> results;
    for (const PackedPart& part : parts) {
      Shape first_steps;
      const ConvShape conv = part.part.ShapeOf(shape, first_steps);
      if (IsOneConvolution(shape) && conv.output == shape.output) {
        return RunPart(part, shape, conv, operands, allocator);
      }
      ATTNRUN_ASSIGN_OR_RETURN(Tensor result,
                               Tensor::Allocate(DataType::kFloat, conv.output, allocator));
      ATTNRUN_RETURN_IF_ERROR(RunPart(
          part, shape, conv, {operands.x, operands.w, operands.bias, result.mutable_data<float>()},
          allocator));
      assembly.Add(part.part, conv, first_steps, result.data<float>());
      results.push_back(std::move(result));
    }
    assembly.Write(operands.bias, operands.y);
    return absl::OkStatus();
  }

  // Computes one of the convolutions, `conv`, from the transposed convolution's x, W and bias.
  static absl::Status RunPart(const PackedPart& part, const ConvShape& transposed,
                              const ConvShape& conv, Convolution::Operands operands,
                              Allocator& allocator) {
    std::vector<float> bias;
    if (operands.bias != nullptr) {
      const int64_t phases = part.part.phases();
      bias.resize(conv.m);
      for (int64_t i = 0; i < conv.m; ++i) bias[i] = operands.bias[i / phases];
      operands.bias = bias.data();
    }
    ATTNRUN_ASSIGN_OR_RETURN(const bool done,
                             part.convolution->RunPacked(conv, operands, allocator));
    if (done) return absl::OkStatus();
    std::vector<float> weights;
    if (part.weights.empty()) weights = part.part.WeightsOf(transposed, operands.w);
    operands.w = part.weights.empty() ? weights.data() : part.weights.data();
    return part.convolution->Run(conv, operands, allocator);
  }

  const ConvTranspose op_;
  const Tensor weight_;
  // Empty unless the weights are constant.
  std::vector<PackedPart> parts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> ConvTranspose::MakeKernel(
    const KernelContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor weight, ConstantConvWeight(context));
  auto kernel = std::make_unique<ConvTransposeKernel>(*this, std::move(weight));
  ATTNRUN_RETURN_IF_ERROR(
      kernel->Prepare(context.constants.size() > 2 && context.constants[2].defined(), context));
  return kernel;
}

}  // namespace attnrun::ops
