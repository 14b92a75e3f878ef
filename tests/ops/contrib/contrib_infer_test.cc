// SPDX-License-Identifier: Apache-2.0
// The facts that ONNX Runtime's own operators infer about their outputs must hold for the results.
#include "gtest/gtest.h"
#include "support/infer_soundness.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

Tensor Int32(std::vector<int64_t> shape, std::vector<int32_t> elements) {
  return Make<int32_t>(shape, elements);
}

TEST(ContribInferTest, Rows) {
  ExpectSound({
      {"com.microsoft::BiasGelu", {F({2, 3}), F({3})}},
      {"com.microsoft::FastGelu", {F({2, 3})}},
      {"com.microsoft::BiasSplitGelu", {F({2, 3, 4}), F({4})}},
      {"com.microsoft::SkipLayerNormalization", {F({2, 3, 4}), F({3, 4}), F({4})}, {}, 4},
      {"com.microsoft::SkipSimplifiedLayerNormalization", {F({3, 4}), F({3, 4}), F({4})}, {}, 4},
      {"com.microsoft::EmbedLayerNormalization",
       {Int32({1, 3}, {0, 1, 0}), None(), F({2, 4}), F({3, 4}), None(), F({4}), F({4})},
       {},
       3},
      {"com.microsoft::RotaryEmbedding",
       {F({1, 2, 8}), Make<int64_t>({1}, {0}), F({2, 2}), F({2, 2})}},
  });
}

TEST(ContribInferTest, Products) {
  const AttributeMap moved = {{"transBatchA", int64_t{1}}, {"transB", int64_t{1}}};
  const AttributeMap transposed = {{"transA", int64_t{1}}, {"transB", int64_t{1}}};
  ExpectSound({
      {"com.microsoft::FusedMatMul", {F({3, 2, 4}), F({2, 5, 4})}, moved},
      {"com.microsoft::FusedMatMul", {F({4}), F({4, 5})}},
      {"com.microsoft::FusedGemm", {F({4, 3}), F({5, 4})}, transposed},
  });
}

TEST(ContribInferTest, Quantized) {
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
  ExpectSound({
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
  });
}

TEST(ContribInferTest, QuantizedLayers) {
  const Tensor scale = Make<float>({}, {0.5F});
  const Tensor scales = Make<float>({1}, {0.5F});
  const Tensor zero = Make<int8_t>({}, {0});
  const Tensor zeros = Make<int8_t>({1}, {0});
  const auto bytes = [](const std::vector<int64_t>& shape) {
    std::mt19937 generator(1);
    return RandomInts(DataType::kInt8, shape, generator, -3, 3);
  };
  const AttributeMap lstm = Int("hidden_size", 2);
  ExpectSound({
      {"com.microsoft::QAttention",
       {bytes({1, 3, 4}), bytes({4, 12}), F({12}), scale, scale, None(), zero, zero},
       Int("num_heads", 2)},
      {"com.microsoft::QEmbedLayerNormalization",
       {Int32({1, 3}, {0, 1, 0}), None(), bytes({2, 4}), bytes({3, 4}), None(), bytes({4}),
        bytes({4}), None(), scale, scale, None(), scale, scale, zero, zero, None(), zero, zero},
       {},
       2},
      {"com.microsoft::DynamicQuantizeLSTM",
       {F({3, 2, 4}), bytes({1, 4, 8}), bytes({1, 2, 8}), None(), None(), None(), None(), None(),
        scales, zeros, scales, zeros},
       lstm,
       3},
  });
}

TEST(ContribInferTest, AttentionOperators) {
  const AttributeMap heads = Int("num_heads", 2);
  const AttributeMap groups = {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}};
  const Tensor past = F({1, 1, 2, 4});
  ExpectSound({
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
      {.op_type = "attnrun::AppendToCache",
       .inputs = {past, F({1, 1, 3, 4}), Make<int64_t>({1}, {2}), I0(5)}},
      {.op_type = "attnrun::AppendToCache",
       .inputs = {past, F({1, 1, 3, 4}), I({2}), I0(4), I({1})}},
  });
}

}  // namespace
}  // namespace attnrun::testing
