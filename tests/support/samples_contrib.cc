// SPDX-License-Identifier: Apache-2.0
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

std::vector<SampleNode> ContribRowSamples() {
  return {
      {"com.microsoft::BiasGelu", {F({2, 3}), F({3})}},
      {"com.microsoft::FastGelu", {F({2, 3})}},
      {"com.microsoft::BiasSplitGelu", {F({2, 3, 4}), F({4})}},
      {"com.microsoft::GatedAdd", {F({2, 3}), F({2, 3}), F({2, 1})}},
      {"com.microsoft::GatedRMSNorm", {F({2, 3, 4}), F({2}), F({2, 3, 4})}},
      {"com.microsoft::LinearAttentionGate", {F({1, 3, 4}), F({4}), F({4}), F({1, 3, 4})}, {}, 2},
      {"com.microsoft::GroupNorm",
       {F({1, 2, 3, 4}), F({4}), F({4})},
       {{"groups", int64_t{2}}, {"activation", int64_t{1}}}},
      {"com.microsoft::SkipLayerNormalization",
       {F({2, 3, 4}), F({2, 3, 4}), F({4}), F({4}), F({4})},
       {},
       4},
      {"com.microsoft::SkipLayerNormalization", {F({2, 3, 4}), F({3, 4}), F({4})}, {}, 4},
      {"com.microsoft::SkipSimplifiedLayerNormalization", {F({3, 4}), F({3, 4}), F({4})}, {}, 4},
      {"com.microsoft::EmbedLayerNormalization",
       {Int32({1, 3}, {0, 1, 0}), None(), F({2, 4}), F({3, 4}), None(), F({4}), F({4})},
       {},
       3},
      {"com.microsoft::Range", {I0(1), I0(4)}},
      {"com.microsoft::RotaryEmbedding",
       {F({1, 2, 8}), Make<int64_t>({1}, {0}), F({2, 2}), F({2, 2})}},
  };
}

std::vector<SampleNode> ContribProductSamples() {
  const AttributeMap moved = {{"transBatchA", int64_t{1}}, {"transB", int64_t{1}}};
  const AttributeMap transposed = {{"transA", int64_t{1}}, {"transB", int64_t{1}}};
  const Tensor x = Make<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor w = Make<int8_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor scale = Make<float>({}, {0.5F});
  const Tensor zero = Make<uint8_t>({}, {7});
  const Tensor w_zero = Make<int8_t>({}, {0});
  const Tensor bias = Int32({2}, {10, 20});
  const Tensor image = Make<uint8_t>({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor kernel = Make<int8_t>({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  const Tensor last = Make<uint8_t>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const AttributeMap channels_last = Int("channels_last", 1);
  const AttributeMap softmax = {{"opset", int64_t{12}}, {"axis", int64_t{1}}};
  return {
      {"com.microsoft::FusedMatMul", {F({3, 2, 4}), F({2, 5, 4})}, moved},
      {"com.microsoft::FusedMatMul", {F({4}), F({4, 5})}},
      {"com.microsoft::FusedGemm", {F({4, 3}), F({5, 4})}, transposed},
      {"com.microsoft::FusedConv", {F({2, 4, 9}), F({6, 4, 3})}, Words("activation", "Relu")},
      {"com.microsoft::NhwcConv", {F({2, 9, 4}), F({6, 3, 4})}},
      {"com.microsoft::MoE", {F({5, 4}), F({5, 3}), F({3, 6, 4}), None(), F({3, 4, 6})}},
      {"com.microsoft::QMoE",
       {F({2, 3, 16}), F({6, 2}), Bytes({2, 4, 8}), F({2, 4}), None(), Bytes({2, 16, 2}),
        F({2, 16})},
       Int("k", 2)},
      {"com.microsoft::QMoE",
       {F({5, 16}), F({5, 2}), Bytes({2, 4, 8}), F({2, 4}), None(), Bytes({2, 16, 2}), F({2, 16})}},
      {"com.microsoft::QLinearAdd", {x, scale, zero, zero, scale, zero, scale, zero}},
      {"com.microsoft::QLinearMul", {x, scale, None(), zero, scale, None(), scale}},
      {"com.microsoft::QLinearSigmoid", {x, scale, zero, scale, zero}},
      {"com.microsoft::QLinearSoftmax", {x, scale, zero, scale, zero}, softmax},
      {"com.microsoft::QLinearConcat", {scale, zero, x, scale, zero}, Int("axis", 0)},
      {"com.microsoft::QGemm", {x, scale, zero, w, scale, w_zero, bias}},
      {"com.microsoft::QGemm", {x, scale, zero, w, scale, w_zero, None(), scale, zero}},
      {"QLinearMatMul", {x, scale, zero, w, scale, w_zero, scale, zero}},
      {"QLinearConv", {image, scale, zero, kernel, scale, w_zero, scale, zero, bias}},
      {"com.microsoft::QLinearConv",
       {last, scale, zero, kernel, scale, w_zero, scale, zero},
       channels_last},
      {"com.microsoft::QuantizeLinear", {F({2, 3}), scale, zero}},
      {"com.microsoft::DequantizeLinear", {x, scale}},
      {"com.microsoft::MatMulNBits",
       {F({2, 3, 16}), Bytes({5, 1, 8}), F({5})},
       {{"K", int64_t{16}}, {"N", int64_t{5}}, {"bits", int64_t{4}}, {"block_size", int64_t{16}}}},
      {"com.microsoft::MatMulBnb4",
       {F({2, 3, 8}), Bytes({12}), F({2})},
       {{"K", int64_t{8}},
        {"N", int64_t{3}},
        {"block_size", int64_t{16}},
        {"quant_type", int64_t{1}}}},
      {"com.microsoft::GatherBlockQuantized",
       {Bytes({4, 16}), Make<int64_t>({2, 3}, {0, 1, 2, 3, -1, 0}), F({4, 1})},
       {{"gather_axis", int64_t{0}},
        {"quantize_axis", int64_t{1}},
        {"block_size", int64_t{16}},
        {"bits", int64_t{8}}}},
  };
}

std::vector<SampleNode> ContribAttentionSamples() {
  const Tensor scale = Make<float>({}, {0.5F});
  const Tensor scales = Make<float>({1}, {0.5F});
  const Tensor zero = Make<int8_t>({}, {0});
  const Tensor zeros = Make<int8_t>({1}, {0});
  const AttributeMap lstm = Int("hidden_size", 2);
  const AttributeMap heads = Int("num_heads", 2);
  const AttributeMap groups = {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}};
  AttributeMap quantized = groups;
  quantized["kv_cache_bit_width"] = int64_t{4};
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    quantized[name] = std::string("PER_TENSOR");
  }
  const Tensor past = F({1, 1, 2, 4});
  return {
      {"com.microsoft::QAttention",
       {SmallBytes({1, 3, 4}), SmallBytes({4, 12}), F({12}), scale, scale, None(), zero, zero},
       Int("num_heads", 2)},
      {"com.microsoft::QEmbedLayerNormalization",
       {Int32({1, 3}, {0, 1, 0}), None(), SmallBytes({2, 4}), SmallBytes({3, 4}), None(),
        SmallBytes({4}), SmallBytes({4}), None(), scale, scale, None(), scale, scale, zero, zero,
        None(), zero, zero},
       {},
       2},
      {"com.microsoft::DynamicQuantizeLSTM",
       {F({3, 2, 4}), SmallBytes({1, 4, 8}), SmallBytes({1, 2, 8}), None(), None(), None(), None(),
        None(), scales, zeros, scales, zeros},
       lstm,
       3},
      {"com.microsoft::MRotaryEmbedding",
       {F({2, 2, 3, 8}), Make<int64_t>({3, 2, 3}, Ints(18, 1)), F({5, 4}), F({5, 4})},
       List("mrope_section", {2, 1, 1})},
      {"com.microsoft::Attention", {F({1, 3, 5}), F({5, 12})}, heads},
      {"com.microsoft::Attention",
       {F({1, 3, 5}), F({5, 12}), None(), None(), F({2, 1, 2, 4, 2})},
       heads,
       2},
      {"com.microsoft::MultiHeadAttention", {F({1, 3, 8}), F({1, 2, 8}), F({1, 2, 6})}, heads},
      {"com.microsoft::MultiHeadAttention", {F({1, 3, 2, 3, 4})}, heads},
      {"com.microsoft::MultiHeadAttention",
       {F({1, 3, 8}), F({1, 2, 8}), F({1, 2, 8}), None(), None(), None(), F({1, 2, 5, 4}),
        F({1, 2, 5, 4})},
       heads,
       3},
      // The number of keys in the present is an element of total_sequence_length.
      {.op_type = "com.microsoft::GroupQueryAttention",
       .inputs = {F({1, 1, 16}), None(), None(), past, past, Int32({1}, {2}), Int32({}, {3})},
       .attributes = groups,
       .num_outputs = 3,
       .open = true},
      {.op_type = "com.microsoft::GroupQueryAttention",
       .inputs = {F({1, 1, 16}), None(), None(), Bytes({1, 1, 2, 2}), Bytes({1, 1, 2, 2}),
                  Int32({1}, {2}), Int32({}, {3}), None(), None(), None(), None(), None(), F({1}),
                  F({1})},
       .attributes = quantized,
       .num_outputs = 3,
       .open = true},
      {.op_type = "attnrun::AppendToCache",
       .inputs = {past, F({1, 1, 3, 4}), Make<int64_t>({1}, {2}), I0(5)}},
      {.op_type = "attnrun::AppendToCache",
       .inputs = {past, F({1, 1, 3, 4}), I({2}), I0(4), I({1})}},
  };
}

}  // namespace attnrun::testing
