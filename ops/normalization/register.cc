// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/simple_normalization.h"

namespace attnrun::ops {
namespace {

OpFactory LayerNorm(const LayerNormalizationSpec& spec) {
  return [spec](AttributeReader& attributes) {
    return std::make_unique<LayerNormalization>(attributes, spec);
  };
}

OpFactory GroupNorm(bool instance) {
  return [instance](AttributeReader& attributes) {
    return std::make_unique<GroupNormalization>(attributes, instance);
  };
}

}  // namespace

void RegisterNormalization(OpRegistry& registry) {
  auto add = [&](const char* name, std::vector<int> since, Arity inputs, Arity outputs,
                 OpFactory make, OpTraits traits = {}) {
    registry.Register({"", name, std::move(since), inputs, outputs, std::move(make), traits});
  };
  // Version 1 is ONNX Runtime's: its optimizer writes the operator into models whose opsets lack
  // it.
  add("LayerNormalization", {1, 17}, {2, 3}, {1, 3},
      LayerNorm({.centered = true, .mean_output = 1, .inverse_output = 2}),
      kWorksOnRows | kTakesAnyRank);
  add("RMSNormalization", {23}, {2, 2}, {1, 1}, LayerNorm({.centered = false}),
      kWorksOnRows | kTakesAnyRank);
  add("SimplifiedLayerNormalization", {1}, {2, 2}, {1, 2}, Make<SimplifiedLayerNormalization>);
  add("InstanceNormalization", {6, 22}, {3, 3}, {1, 1}, GroupNorm(true));
  add("GroupNormalization", {18, 21}, {3, 3}, {1, 1}, GroupNorm(false));
  add("BatchNormalization", {7, 9, 14, 15}, {5, 5}, {1, 5}, Make<BatchNormalization>);
  add("LpNormalization", {1, 22}, {1, 1}, {1, 1}, Make<LpNormalization>);
  add("MeanVarianceNormalization", {9, 13}, {1, 1}, {1, 1}, Make<MeanVarianceNormalization>);
  add("LRN", {1, 13}, {1, 1}, {1, 1}, Make<Lrn>);
}

}  // namespace attnrun::ops
