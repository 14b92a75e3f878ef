// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/moe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/families.h"
#include "ops/interface/infer_rules.h"
#include "ops/moe/routed_experts.h"

namespace attnrun::ops {
namespace {

// The inputs of a layer; -1 for those that the operator does not have.
struct LayerInputs {
  int weight;
  int scales;
  int bias;
  int zero_points;
};
constexpr std::array<LayerInputs, 3> kFloatInputs = {
    {{2, -1, 3, -1}, {4, -1, 5, -1}, {6, -1, 7, -1}}};
constexpr std::array<LayerInputs, 3> kCodeInputs = {{{2, 3, 4, 11}, {5, 6, 7, 12}, {8, 9, 10, 13}}};
constexpr int kRouterWeights = 14;

void ReadQuantization(AttributeReader& attributes, MoeAttributes& read) {
  const auto bits = static_cast<int>(attributes.Int("expert_weight_bits", 4));
  read.bits[0] = static_cast<int>(attributes.Int("fc1_expert_weight_bits", bits));
  read.bits[1] = static_cast<int>(attributes.Int("fc2_expert_weight_bits", bits));
  read.bits[2] = static_cast<int>(attributes.Int("fc3_expert_weight_bits", bits));
  read.block_size = attributes.Int("block_size", 0);
  attributes.OneOf("quant_type", "int", {"int"});
  // Permits rounding of x, which is never done here.
  attributes.Ignore("accuracy_level");
  // -1 leaves the layout to the runtime, as which attnrun takes the plain one.
  if (attributes.Int("weights_prepacked", -1) != -1) attributes.ExpectInt("weights_prepacked", 0);
  for (int i = kRouterWeights + 1; i < kRouterWeights + 7; ++i) {
    attributes.ExpectNoInput(i, "a scale of 4- or 8-bit floats");
  }
}

// The layers of one expert, as views of those of all.
ExpertLayers ExpertOf(ExpertLayers layers, int64_t expert) {
  for (ExpertLayer& layer : layers) {
    for (Tensor* tensor : {&layer.weight, &layer.scales, &layer.zero_points, &layer.bias}) {
      if (!tensor->defined()) continue;
      const Shape shape(tensor->shape().begin() + 1, tensor->shape().end());
      const int64_t size = tensor->num_elements() / tensor->dim(0);
      *tensor = tensor->View(shape, DenseStrides(shape), expert * size);
    }
  }
  return layers;
}

}  // namespace

Moe::Moe(AttributeReader& attributes, bool quantized)
    : ExpertsOp(attributes), quantized_(quantized) {
  attributes_.k = attributes.Int("k", 1);
  attributes_.normalize = attributes.Int("normalize_routing_weights", 0) != 0;
  attributes.ExpectInt("use_sparse_mixer", 0);
  if (quantized) ReadQuantization(attributes, attributes_);
}

absl::StatusOr<std::vector<ExpertLayers>> Moe::ReadExperts(Inputs input, int /*count*/) const {
  ExpertLayers layers(3);
  const auto& places = quantized_ ? kCodeInputs : kFloatInputs;
  for (int i = 0; i < 3; ++i) {
    const auto read = [&](int place) { return place < 0 ? Tensor() : input(place); };
    layers[i].weight = read(places[i].weight);
    layers[i].scales = read(places[i].scales);
    layers[i].bias = read(places[i].bias);
    layers[i].zero_points = read(places[i].zero_points);
    layers[i].bits = attributes_.bits[i];
    layers[i].block_size = attributes_.block_size;
  }
  const Tensor& second = layers[1].weight;
  const int64_t experts = second.rank() > 0 ? second.dim(0) : 0;
  ATTNRUN_RETURN_IF_ERROR(CheckLayers(attributes_, experts, layers));
  std::vector<ExpertLayers> result;
  result.reserve(experts);
  for (int64_t i = 0; i < experts; ++i) result.push_back(ExpertOf(layers, i));
  return result;
}

absl::StatusOr<MoeShape> Moe::Resolve(const OpContext& context, MoeShape shape) const {
  const Tensor& x = context.input(0);
  shape.tokens = x.rank() == 2 ? x.dim(0) : x.rank() == 3 ? x.dim(0) * x.dim(1) : -1;
  shape.k = attributes_.k;
  if (shape.tokens < 0 || !IsFloatingPoint(x.type()) || x.shape().back() != shape.hidden) {
    return UnfitTensor("x of floats [T,H] or [B,S,H] for layers", {shape.inner, shape.hidden}, x);
  }
  const Shape router = {shape.tokens, shape.experts};
  for (const int i : {1, quantized_ ? kRouterWeights : 1}) {
    if (!context.has_input(i)) continue;
    const Tensor& tensor = context.input(i);
    if (!IsFloatingPoint(tensor.type()) || tensor.shape() != router) {
      return UnfitTensor("router_probs and router_weights of floats", router, tensor);
    }
  }
  if (attributes_.k < 1 || attributes_.k > shape.experts) {
    return absl::InvalidArgumentError(absl::StrCat("expected k from 1 to the ", shape.experts,
                                                   " experts, but found ", attributes_.k));
  }
  return shape;
}

absl::StatusOr<std::vector<std::vector<Route>>> Moe::ReadRoutes(const OpContext& context,
                                                                const MoeShape& shape) const {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scores, ToDoubles(context.input(1)));
  std::vector<double> given;
  if (quantized_ && context.has_input(kRouterWeights)) {
    ATTNRUN_ASSIGN_OR_RETURN(given, ToDoubles(context.input(kRouterWeights)));
  }
  std::vector<std::vector<Route>> routes(shape.tokens);
  std::vector<int64_t> order(shape.experts);
  for (int64_t token = 0; token < shape.tokens; ++token) {
    const double* score = scores.data() + token * shape.experts;
    // A NaN is no score at all.
    const auto better = [&](int64_t a, int64_t b) {
      const double lowest = -std::numeric_limits<double>::infinity();
      const double x = std::isnan(score[a]) ? lowest : score[a];
      const double y = std::isnan(score[b]) ? lowest : score[b];
      return x > y || (x == y && a < b);
    };
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + attributes_.k, order.end(), better);
    const double greatest = score[order[0]];
    double sum = 0;
    const int64_t summed = quantized_ ? attributes_.k : shape.experts;
    for (int64_t i = 0; i < summed; ++i) sum += std::exp(score[order[i]] - greatest);
    double chosen = 0;
    for (int64_t i = 0; i < attributes_.k; ++i) {
      const int64_t expert = order[i];
      const double weight = given.empty() ? std::exp(score[expert] - greatest) / sum
                                          : given[token * shape.experts + expert];
      routes[token].push_back({expert, weight});
      chosen += weight;
    }
    if (!attributes_.normalize || chosen == 0) continue;
    for (Route& route : routes[token]) route.weight /= chosen;
  }
  return routes;
}

// The tokens of x [T, H]; those of [B, S, H] are one axis of the router's inputs.
void Moe::Axes(AxesContext& context) const {
  const std::optional<Dims>& x = context.input(0).dims;
  if (!x.has_value() || x->size() != 2) return;
  context.Add({{0, 0}, {1, 0}, {quantized_ ? kRouterWeights : -1, 0}}, {{0, 0}});
}

void RegisterMoe(OpRegistry& registry) {
  registry.Register({kContribDomain, "MoE", {1}, {3, 8}, {1, 1}, [](AttributeReader& attributes) {
                       return std::make_unique<Moe>(attributes, /*quantized=*/false);
                     }});
  registry.Register({kContribDomain, "QMoE", {1}, {3, 21}, {1, 1}, [](AttributeReader& attributes) {
                       return std::make_unique<Moe>(attributes, /*quantized=*/true);
                     }});
  registry.Register({"attnrun", "Experts", {1}, {4, kVariadic}, {1, 1}, Make<RoutedExperts>});
}

}  // namespace attnrun::ops
