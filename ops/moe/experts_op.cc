// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/experts_op.h"

#include <initializer_list>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/div_ceil.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/quantization/nbit/codes.h"

namespace attnrun::ops {
namespace {

ExpertActivation ReadActivation(AttributeReader& attributes) {
  const std::string name =
      attributes.OneOf("activation_type", "relu", {"relu", "gelu", "silu", "swiglu", "identity"});
  if (name == "relu") return ExpertActivation::kRelu;
  if (name == "gelu") return ExpertActivation::kGelu;
  if (name == "silu") return ExpertActivation::kSilu;
  return name == "swiglu" ? ExpertActivation::kSwiglu : ExpertActivation::kIdentity;
}

Shape With(const Shape& lead, std::initializer_list<int64_t> others) {
  Shape shape = lead;
  shape.insert(shape.end(), others);
  return shape;
}

absl::Status CheckScales(const ExpertLayer& layer, const Shape& lead) {
  if (!IsCodeWidth(layer.bits) || layer.k * layer.bits % 8 != 0 ||
      (layer.block_size != 0 &&
       (!IsBlockSize(layer.block_size) || layer.k % layer.block_size != 0))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected codes of 2, 4 or 8 bits in whole bytes, and blocks of a power of two from 16 on, "
        "but found rows of ",
        layer.k, " codes of ", layer.bits, " bits in blocks of ", layer.block_size));
  }
  const int64_t blocks = layer.block_size == 0 ? 1 : layer.k / layer.block_size;
  Shape scales = With(lead, {layer.n});
  if (layer.block_size != 0) scales.push_back(blocks);
  if (!layer.scales.defined() || !IsFloatingPoint(layer.scales.type()) ||
      layer.scales.shape() != scales) {
    return UnfitTensor("scales of floats", scales, layer.scales);
  }
  if (!layer.zero_points.defined()) return absl::OkStatus();
  Shape points = With(lead, {DivCeil(layer.n * layer.bits, int64_t{8})});
  if (layer.block_size != 0) {
    points = With(lead, {layer.n, DivCeil(blocks * layer.bits, int64_t{8})});
  }
  const bool fits =
      layer.zero_points.type() == DataType::kUint8 && layer.zero_points.shape() == points;
  return fits ? absl::OkStatus() : UnfitTensor("zero points uint8", points, layer.zero_points);
}

// Checks the tensors of a layer with k elements in and n out, whose first axes are `lead`.
absl::Status CheckLayer(ExpertLayer& layer, const Shape& lead, int64_t n, int64_t k) {
  layer.n = n;
  layer.k = k;
  const bool codes = layer.bits > 0;
  const Shape weight = With(lead, {n, codes ? k * layer.bits / 8 : k});
  const bool type =
      codes ? layer.weight.type() == DataType::kUint8 : IsFloatingPoint(layer.weight.type());
  if (!type || layer.weight.shape() != weight) {
    return UnfitTensor(codes ? "experts of uint8" : "experts of floats", weight, layer.weight);
  }
  if (codes) ATTNRUN_RETURN_IF_ERROR(CheckScales(layer, lead));
  if (!layer.bias.defined()) return absl::OkStatus();
  const bool fits = IsFloatingPoint(layer.bias.type()) && layer.bias.shape() == With(lead, {n});
  return fits ? absl::OkStatus() : UnfitTensor("a bias of floats", With(lead, {n}), layer.bias);
}

}  // namespace

ExpertsOp::ExpertsOp(AttributeReader& attributes) {
  attributes_.activation = ReadActivation(attributes);
  attributes_.fusion = attributes.Int("swiglu_fusion", 0);
  attributes_.alpha = attributes.Float("activation_alpha", 1);
  attributes_.beta = attributes.Float("activation_beta", 0);
  attributes_.limit = attributes.Get<float>("swiglu_limit");
}

void ExpertsOp::Infer(InferContext& context) const { InferLikeInput(context); }

MoeShape SizesOf(const std::vector<ExpertLayers>& experts) {
  const ExpertLayer& second = experts[0][1];
  return {.hidden = second.n, .inner = second.k, .experts = std::ssize(experts)};
}

absl::Status UnfitTensor(absl::string_view what, const Shape& expected, const Tensor& found) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, " ", ToString(expected),
                                                 ", but found ", TypeAndShape(found)));
}

absl::Status CheckLayers(const MoeAttributes& attributes, std::optional<int64_t> experts,
                         ExpertLayers& layers) {
  const Tensor& second = layers[1].weight;
  Shape lead;
  if (experts.has_value()) lead.push_back(*experts);
  const int axes = static_cast<int>(lead.size());
  if (second.rank() != axes + 2 || second.num_elements() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected experts with elements in layer 2, but found ", TypeAndShape(second)));
  }
  const bool swiglu = attributes.activation == ExpertActivation::kSwiglu;
  const bool fused = swiglu && attributes.fusion != 0;
  const bool has_third = layers[2].weight.defined();
  if (attributes.fusion < 0 || attributes.fusion > 2 || (swiglu && has_third == fused)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected swiglu_fusion 1 or 2 without layer 3, or 0 with it, but found ",
                     attributes.fusion, has_third ? " with it" : " without it"));
  }
  const int64_t hidden = second.dim(axes);
  const int bits = layers[1].bits;
  const int64_t inner = bits > 0 ? second.dim(axes + 1) * 8 / bits : second.dim(axes + 1);
  ATTNRUN_RETURN_IF_ERROR(CheckLayer(layers[0], lead, fused ? 2 * inner : inner, hidden));
  ATTNRUN_RETURN_IF_ERROR(CheckLayer(layers[1], lead, hidden, inner));
  return has_third ? CheckLayer(layers[2], lead, inner, hidden) : absl::OkStatus();
}

}  // namespace attnrun::ops
