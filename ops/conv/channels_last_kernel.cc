// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "core/status.h"
#include "ops/conv/bf16_conv.h"
#include "ops/conv/channels_last_conv.h"
#include "ops/conv/conv_tiling.h"
#include "ops/conv/depthwise_conv.h"
#include "ops/conv/float_conv.h"
#include "ops/conv/implicit_gemm.h"
#include "ops/interface/optional_input.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// Constant weights, packed for one of the ways to convolve.
struct ChannelsLastWeights {
  // Empty if one of the others is set.
  std::vector<float> depthwise;
  std::unique_ptr<const ImplicitGemm> gemm;
  std::unique_ptr<const Bf16Conv> bf16;
};

class ChannelsLastKernel final : public Kernel {
 public:
  ChannelsLastKernel(const ChannelsLastConv& op, ChannelsLastWeights weights)
      : op_(op), weights_(std::move(weights)) {}

  absl::string_view name() const override {
    if (weights_.bf16 != nullptr) return weights_.bf16->name();
    return weights_.gemm != nullptr ? "gemm packed" : "highway";
  }

  Precision precision() const override {
    return weights_.bf16 != nullptr ? Precision::kBfloat16 : Precision::kFloat32;
  }

  bool can_store_bf16() const override { return weights_.bf16 != nullptr; }
  bool rounds_input(int i) const override {
    return i == ChannelsLastConv::kX && weights_.bf16 != nullptr;
  }

  bool Accepts(const OpContext& context) const override {
    const DataType type = context.declared_type(ChannelsLastConv::kX);
    for (int i = 1; i < context.num_inputs(); ++i) {
      if (context.has_input(i) && context.input(i).type() != type) return false;
    }
    if (!IsFloatOrHalf(type)) return false;
    const absl::StatusOr<ConvShape> shape = op_.Resolve(context);
    if (!shape.ok()) return false;
    const bool empty = shape->c == 0 || shape->m * shape->n * shape->output_size == 0;
    return empty || weights_.gemm == nullptr || ImplicitGemm::Serves(*shape);
  }

  absl::Status Run(OpContext& context) const override {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const ConvShape shape, op_.Resolve(context));
    const Tensor& x = context.input(ChannelsLastConv::kX);
    const DataType type = context.declared_type(ChannelsLastConv::kX);
    RoundedImages rounded;
    Tensor floats;
    if (context.is_rounded(ChannelsLastConv::kX)) {
      rounded.x = x.data<uint16_t>();
    } else {
      ATTNRUN_ASSIGN_OR_RETURN(floats, ToFloat(x, allocator));
    }
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor bias, FloatsOf(context, ChannelsLastConv::kBias));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor residual, FloatsOf(context, ChannelsLastConv::kResidual));
    ChannelsLastOperands operands = {
        .x = floats.defined() ? floats.data<float>() : nullptr,
        .bias = bias.defined() ? bias.data<float>() : nullptr,
        .residual = residual.defined() ? residual.data<float>() : nullptr,
        .residual_first = op_.residual_first(),
        .activation = op_.activation(),
        .y = nullptr};
    const Shape output = ChannelsLastConv::OutputOf(shape);
    if (context.stores_bf16() && type == DataType::kFloat) {
      ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateRounded(output));
      if (y->num_elements() == 0) return absl::OkStatus();
      rounded.y = y->mutable_data<uint16_t>();
      return weights_.bf16->Run(shape, operands, rounded, allocator);
    }
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y, FloatOutput::Allocate(context, 0, type, output));
    if (y.num_elements() == 0) return absl::OkStatus();
    operands.y = y.data();
    if (weights_.bf16 != nullptr) {
      ATTNRUN_RETURN_IF_ERROR(weights_.bf16->Run(shape, operands, rounded, allocator));
    } else if (weights_.gemm != nullptr) {
      ATTNRUN_RETURN_IF_ERROR(weights_.gemm->Run(shape, operands, allocator));
    } else {
      ConvolveDepthwise(shape, weights_.depthwise.data(), operands);
    }
    y.Store();
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<ConvShape> shape = op_.Resolve(context);
    return shape.ok() ? shape->flops() : 0;
  }

 private:
  // Input i as floats; undefined if it is left out.
  static absl::StatusOr<Tensor> FloatsOf(const OpContext& context, int i) {
    if (!context.has_input(i)) return absl::StatusOr<Tensor>(absl::in_place);
    return ToFloat(context.input(i), context.allocator());
  }

  const ChannelsLastConv op_;
  const ChannelsLastWeights weights_;
};

// w [C, 1, kernel..] as floats [taps, C].
std::vector<float> DepthwiseWeights(const Tensor& w) {
  const int64_t count = w.num_elements();
  std::vector<float> floats(count);
  // All channels are those of one feature.
  const ConvWeights weights = {w, 1, w.dim(0), count / w.dim(0)};
  CopyBlock(weights.TapsFirst(0), 0, count, 0, 1, floats.data(), 1);
  return floats;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> ChannelsLastConv::MakeKernel(
    const KernelContext& context) const {
  const Tensor w = ConstantConvWeight(context);
  const int64_t group = attributes_.group;
  // The node's calls report weights that do not fit; those that are not constant have no kernel.
  if (!w.defined() || w.rank() < 3 || w.num_elements() == 0) return nullptr;
  if (group < 1 || w.dim(0) % group != 0) return nullptr;
  ChannelsLastWeights weights;
  if (group > 1 && group == w.dim(0) && w.dim(1) == 1) {
    weights.depthwise = DepthwiseWeights(w);
  } else {
    const ConvWeights dense = ConvWeights::Of(w, group);
    ATTNRUN_ASSIGN_OR_RETURN(weights.bf16, Bf16Conv::Make(dense, context));
    if (weights.bf16 == nullptr) {
      ATTNRUN_ASSIGN_OR_RETURN(weights.gemm, ImplicitGemm::Make(dense, context));
    }
  }
  return std::make_unique<ChannelsLastKernel>(*this, std::move(weights));
}

}  // namespace attnrun::ops
