// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/activations.h"
#include "ops/contrib/contrib_attention.h"
#include "ops/contrib/dynamic_quantize_lstm.h"
#include "ops/contrib/embed_layer_normalization.h"
#include "ops/contrib/group_query_attention.h"
#include "ops/contrib/multi_head_attention.h"
#include "ops/contrib/products.h"
#include "ops/contrib/qlinear.h"
#include "ops/contrib/quantized_layers.h"
#include "ops/contrib/quantized_products.h"
#include "ops/contrib/rotation.h"
#include "ops/contrib/skip_normalization.h"
#include "ops/interface/families.h"
#include "ops/quantization/qlinear_products.h"

namespace attnrun::ops {
namespace {

// The factory of a class that serves several operators, which `kind` distinguishes.
template <typename OpClass, typename Kind>
OpFactory MakeOf(Kind kind) {
  return
      [kind](AttributeReader& attributes) { return std::make_unique<OpClass>(attributes, kind); };
}

}  // namespace

void RegisterContrib(OpRegistry& registry) {
  auto add = [&](const char* name, Arity inputs, Arity outputs, OpFactory make,
                 OpTraits traits = {}) {
    registry.Register({kContribDomain, name, {1}, inputs, outputs, std::move(make), traits});
  };
  using Gelu = BiasedActivation::Function;
  add("BiasGelu", {2, 2}, {1, 1}, MakeOf<BiasedActivation>(Gelu::kErf), kElementwise);
  add("Gelu", {1, 1}, {1, 1}, MakeOf<BiasedActivation>(Gelu::kErf), kElementwise);
  add("FastGelu", {1, 2}, {1, 1}, MakeOf<BiasedActivation>(Gelu::kTanh), kElementwise);
  add("QuickGelu", {1, 1}, {1, 1}, MakeOf<BiasedActivation>(Gelu::kSigmoid), kElementwise);
  add("BiasSplitGelu", {2, 2}, {1, 1}, Make<BiasSplitGelu>);
  add("FusedMatMul", {2, 2}, {1, 1}, MakeOf<FusedMatMul>(true));
  add("TransposeMatMul", {2, 2}, {1, 1}, MakeOf<FusedMatMul>(false));
  add("FusedGemm", {2, 3}, {1, 1}, Make<FusedGemm>);
  add("MatMulIntegerToFloat", {4, 7}, {1, 1}, Make<MatMulIntegerToFloat>);
  add("DynamicQuantizeMatMul", {3, 5}, {1, 1}, Make<DynamicQuantizeMatMul>);
  add("SkipLayerNormalization", {3, 5}, {1, 4}, MakeOf<SkipNormalization>(true));
  add("EmbedLayerNormalization", {1, 9}, {1, 3}, Make<EmbedLayerNormalization>);
  add("Attention", {2, 7}, {1, 2}, Make<ContribAttention>);
  add("MultiHeadAttention", {1, 10}, {1, 3}, Make<MultiHeadAttention>);
  add("GroupQueryAttention", {1, 16}, {1, 3}, Make<GroupQueryAttention>);
  add("DynamicQuantizeLSTM", {3, 12}, {0, 3}, Make<DynamicQuantizeLstm>);
  add("QAttention", {5, 9}, {1, 2}, Make<QAttention>);
  add("QEmbedLayerNormalization", {1, 18}, {1, 2}, Make<QEmbedLayerNormalization>);
  add("QGemm", {6, 9}, {1, 1}, Make<QGemm>);
  add("QLinearConv", {8, 9}, {1, 1}, Make<QLinearConv>);
  for (const char* name : {"QLinearAdd", "QLinearMul"}) add(name, {2, 8}, {1, 1}, Make<QLinear>);
  for (const char* name : {"QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu",
                           "QLinearSigmoid", "QLinearSoftmax"}) {
    add(name, {2, 5}, {1, 1}, Make<QLinear>);
  }
  add("QLinearConcat", {3, kVariadic}, {1, 1}, Make<QLinear>);
  add("QLinearWhere", {9, 9}, {1, 1}, Make<QLinear>);
  for (const char* name : {"QuantizeLinear", "DequantizeLinear"}) {
    add(name, {2, 3}, {1, 1}, Make<ContribQuantization>);
  }
  add("RotaryEmbedding", {4, 4}, {1, 1}, Make<ContribRotaryEmbedding>);
  add("SkipSimplifiedLayerNormalization", {3, 4}, {1, 4}, MakeOf<SkipNormalization>(false));
}

}  // namespace attnrun::ops
