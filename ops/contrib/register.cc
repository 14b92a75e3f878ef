// SPDX-License-Identifier: Apache-2.0

// ONNX Runtime's own operators (domain com.microsoft). Each consists of other operators and is
// described once: by a function in a file of this folder that reads a node's attributes and returns
// a function that writes its body (see Body). To add one, declare it here and list it below.

#include "ops/composite/composite.h"
#include "ops/interface/families.h"
#include "ops/quantization/int8/qlinear_products.h"
#include "ops/recurrent/dynamic_quantize_lstm.h"

namespace attnrun::ops {
namespace contrib {

using Description = Composite::Writer(AttributeReader& attributes);

Description Attention, BiasSplitGelu, DynamicQuantizeMatMul, EmbedLayerNormalization, FastGelu,
    FusedConv, FusedGemm, FusedMatMul, GatedAdd, GatedRMSNorm, Gelu, GroupNorm, GroupQueryAttention,
    LinearAttentionGate, MatMulBnb4, MatMulIntegerToFloat, MRotaryEmbedding, MultiHeadAttention,
    NhwcConv, QAttention, QEmbedLayerNormalization, QGemm, QLinearBinary, QLinearConcat,
    QLinearLeakyRelu, QLinearPool, QLinearSoftmax, QLinearUnary, QLinearWhere, Quantization,
    QuickGelu, Range, RotaryEmbedding, SkipLayerNormalization, SkipSimplifiedLayerNormalization,
    SparseAttention, TransposeMatMul;

struct Entry {
  const char* name;
  Arity inputs;
  Arity outputs;
  Description* describe;
  OpTraits traits = {};
};

constexpr Entry kDescribed[] = {
    {"Attention", {2, 7}, {1, 2}, Attention},
    {"BiasGelu", {2, 2}, {1, 1}, Gelu, kElementwise},
    {"BiasSplitGelu", {2, 2}, {1, 1}, BiasSplitGelu},
    {"DequantizeLinear", {2, 3}, {1, 1}, Quantization},
    {"DynamicQuantizeMatMul", {3, 5}, {1, 1}, DynamicQuantizeMatMul},
    {"EmbedLayerNormalization", {1, 9}, {1, 3}, EmbedLayerNormalization},
    {"FastGelu", {1, 2}, {1, 1}, FastGelu, kElementwise},
    {"FusedConv", {2, 4}, {1, 1}, FusedConv},
    {"FusedGemm", {2, 3}, {1, 1}, FusedGemm},
    {"FusedMatMul", {2, 2}, {1, 1}, FusedMatMul},
    {"GatedAdd", {3, 3}, {1, 1}, GatedAdd, kElementwise},
    {"GatedRMSNorm", {3, 3}, {1, 1}, GatedRMSNorm},
    {"Gelu", {1, 1}, {1, 1}, Gelu, kElementwise},
    {"GroupNorm", {3, 3}, {1, 1}, GroupNorm},
    {"GroupQueryAttention", {1, 16}, {1, 3}, GroupQueryAttention},
    {"LinearAttentionGate", {3, 4}, {1, 2}, LinearAttentionGate},
    {"MRotaryEmbedding", {4, 4}, {1, 1}, MRotaryEmbedding},
    {"MatMulBnb4", {3, 3}, {1, 1}, MatMulBnb4},
    {"MatMulIntegerToFloat", {4, 7}, {1, 1}, MatMulIntegerToFloat},
    {"MultiHeadAttention", {1, 10}, {1, 3}, MultiHeadAttention},
    {"NhwcConv", {2, 3}, {1, 1}, NhwcConv},
    {"QAttention", {5, 9}, {1, 2}, QAttention},
    {"QEmbedLayerNormalization", {1, 18}, {1, 2}, QEmbedLayerNormalization},
    {"QGemm", {6, 9}, {1, 1}, QGemm},
    {"QLinearAdd", {2, 8}, {1, 1}, QLinearBinary},
    {"QLinearAveragePool", {2, 5}, {1, 1}, QLinearPool},
    {"QLinearConcat", {3, kVariadic}, {1, 1}, QLinearConcat},
    {"QLinearGlobalAveragePool", {2, 5}, {1, 1}, QLinearPool},
    {"QLinearLeakyRelu", {2, 5}, {1, 1}, QLinearLeakyRelu},
    {"QLinearMul", {2, 8}, {1, 1}, QLinearBinary},
    {"QLinearSigmoid", {2, 5}, {1, 1}, QLinearUnary},
    {"QLinearSoftmax", {2, 5}, {1, 1}, QLinearSoftmax},
    {"QLinearWhere", {9, 9}, {1, 1}, QLinearWhere},
    {"QuantizeLinear", {2, 3}, {1, 1}, Quantization},
    {"QuickGelu", {1, 1}, {1, 1}, QuickGelu, kElementwise},
    {"Range", {2, 3}, {1, 1}, Range},
    {"RotaryEmbedding", {4, 4}, {1, 1}, RotaryEmbedding},
    {"SkipLayerNormalization", {3, 5}, {1, 4}, SkipLayerNormalization},
    {"SkipSimplifiedLayerNormalization", {3, 4}, {1, 4}, SkipSimplifiedLayerNormalization},
    {"SparseAttention", {1, 11}, {1, 3}, SparseAttention},
    {"TransposeMatMul", {2, 2}, {1, 1}, TransposeMatMul},
};

}  // namespace contrib

void RegisterContrib(OpRegistry& registry) {
  for (const contrib::Entry& entry : contrib::kDescribed) {
    const auto make = [describe = entry.describe](AttributeReader& attributes) {
      return std::make_unique<Composite>(describe(attributes));
    };
    registry.Register(
        {kContribDomain, entry.name, {1}, entry.inputs, entry.outputs, make, entry.traits});
  }
  const auto add = [&](const char* name, Arity inputs, Arity outputs, OpFactory make) {
    registry.Register({kContribDomain, name, {1}, inputs, outputs, std::move(make)});
  };
  add("DynamicQuantizeLSTM", {3, 12}, {0, 3}, Make<DynamicQuantizeLstm>);
  add("QLinearConv", {8, 9}, {1, 1}, MakeQLinearConv);
}

}  // namespace attnrun::ops
