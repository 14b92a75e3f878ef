// SPDX-License-Identifier: Apache-2.0
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

std::vector<SampleNode> LayerSamples() {
  const AttributeMap heads = {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}};
  return {
      {"LayerNormalization", {F({2, 3, 4}), F({4}), F({4})}, {}, 3},
      {"LayerNormalization", {F({2, 3, 4}), F({3, 4})}, Int("axis", 1), 3},
      {"LayerNormalization", {F({2, 3, 4}), F({3, 4}), F({2, 1, 4})}},
      {"RMSNormalization", {F({2, 3, 4}), F({4})}, {}, 1, 23},
      {"SimplifiedLayerNormalization", {F({2, 3, 4}), F({4})}, {}, 2},
      {"GroupNormalization", {F({2, 4, 3}), F({4}), F({4})}, Int("num_groups", 2), 1, 21},
      {"InstanceNormalization", {F({2, 4, 3}), F({4}), F({4})}},
      {"BatchNormalization",
       {F({2, 4, 3}), F({4}), F({4}), F({4}), F({4})},
       Int("training_mode", 1),
       3},
      {"BatchNormalization", {F({2, 4, 3}), F({4}), F({4}), F({4}), F({4})}},
      {"BatchNormalization",
       {F({2, 4, 3}), F({12}), F({12}), F({12}), F({12})},
       Int("spatial", 0),
       1,
       7},
      {"LpNormalization", {F({2, 3})}},
      {"MeanVarianceNormalization", {F({2, 3, 4, 5})}},
      {"LRN", {F({2, 4, 3})}, Int("size", 3)},
      {"Attention", {F({2, 4, 3, 8}), F({2, 2, 5, 8}), F({2, 2, 5, 6})}, {}, 4, 23},
      {"Attention",
       {F({2, 3, 32}), F({2, 5, 16}), F({2, 5, 12}), None(), F({2, 2, 7, 8}), F({2, 2, 7, 6})},
       heads,
       4,
       23},
      {"RotaryEmbedding", {F({2, 4, 3, 8}), F({2, 3, 4}), F({2, 3, 4})}, {}, 1, 23},
      {"LSTM", {F({3, 2, 4}), F({1, 20, 4}), F({1, 20, 5})}, Int("hidden_size", 5), 3},
      {"LSTM",
       {F({3, 2, 4}), F({1, 20, 4}), F({1, 20, 5}), None(), Int32({2}, {3, 1}), F({1, 2, 5}),
        F({1, 2, 5})},
       Int("hidden_size", 5),
       3},
      {"GRU", {F({3, 2, 4}), F({2, 15, 4}), F({2, 15, 5})}, Words("direction", "bidirectional"), 2},
      {"RNN", {F({2, 3, 4}), F({1, 5, 4}), F({1, 5, 5})}, Int("layout", 1), 2},
      {"QuantizeLinear", {F({2, 3}), Make<float>({}, {0.5F})}},
      {"QuantizeLinear", {F({2, 3, 4}), F({3}), Bytes({3})}},
      {"QuantizeLinear",
       {F({2, 4, 3}), F({2, 2, 3}), Bytes({2, 2, 3})},
       Int("block_size", 2),
       1,
       21},
      {"DequantizeLinear", {Bytes({2, 3}), Make<float>({}, {0.5F})}},
      {"DequantizeLinear", {Bytes({2, 3, 4}), F({4}), Bytes({4})}, Int("axis", -1)},
      {"DynamicQuantizeLinear", {F({2, 3})}, {}, 3},
  };
}

std::vector<SampleNode> AttentionSamples() {
  const Tensor q = F({2, 3, 5, 4});
  const Tensor k = F({2, 3, 6, 4});
  const Tensor v = F({2, 3, 6, 7});
  const Tensor last = I({6, 4});
  const AttributeMap causal = Int("is_causal", 1);
  const AttributeMap window = Int("left_window_size", 1);
  const AttributeMap heads = {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}};
  const Tensor ids = Make<int64_t>({2, 3}, {0, 1, 2, 3, 4, 0});
  const AttributeMap windowed = {
      {"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}, {"state_window", int64_t{3}}};
  const AttributeMap dilated = {{"dilation", int64_t{2}}, {"state_window", int64_t{3}}};
  return {
      {"LinearAttention",
       {F({2, 5, 16}), F({2, 5, 8}), F({2, 5, 6}), None(), F({2, 5, 2}), F({2, 5, 1})},
       heads,
       2,
       27},
      {"com.microsoft::LinearAttention",
       {F({2, 5, 8}), F({2, 5, 8}), F({2, 5, 6}), None(), F({2, 5, 8}), F({2, 5, 2})},
       windowed,
       2},
      {"CausalConvWithState", {F({2, 3, 5}), F({3, 1, 4}), F({3})}, {}, 2, 27},
      {"com.microsoft::CausalConvWithState", {F({2, 3, 5}), F({3, 1, 4})}, dilated, 2},
      {"com.microsoft::CausalConvWithState",
       {F({2, 5, 2, 3}), F({6, 1, 4}), None(), F({2, 3, 2, 3})},
       Int("channels_last", 1),
       2},
      {"Attention", {q, k, v, F({2, 1, 5, 6})}, {}, 4, 23},
      {"Attention", {q, k, v, F({3, 5, 1})}, {}, 1, 23},
      {"Attention", {q, k, v, F({1, 6}), F({2, 3, 2, 4}), F({2, 3, 2, 7})}, {}, 3, 24},
      {"Attention", {q, k, v, None(), None(), None(), last}, {}, 4, 24},
      {"Attention", {q, k, v}, causal, 4, 23},
      {"Attention", {q, k, v}, window, 1, 25},
      {"Attention", {F({2, 3, 16}), F({2, 5, 8}), F({2, 5, 6}), F({3, 5})}, heads, 1, 23},
      {"RotaryEmbedding", {F({2, 4, 3, 8}), F({5, 4}), F({5, 4}), ids}, {}, 1, 23},
      {"RotaryEmbedding", {F({2, 3, 8}), F({1, 3, 2}), F({1, 3, 2})}, Int("num_heads", 2), 1, 23},
  };
}

}  // namespace attnrun::testing
