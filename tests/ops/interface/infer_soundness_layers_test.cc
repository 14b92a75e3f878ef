// SPDX-License-Identifier: Apache-2.0
// The facts that products, reductions and layers infer about their outputs must hold for the
// results.
#include "gtest/gtest.h"
#include "support/infer_soundness.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

TEST(InferSoundnessLayersTest, ProductsAndReductions) {
  const AttributeMap transposed = {{"transA", int64_t{1}}, {"transB", int64_t{1}}};
  ExpectSound({
      {"MatMul", {F({2, 1, 3, 4}), F({5, 4, 6})}},
      {"MatMul", {F({4}), F({5, 4, 6})}},
      {"MatMul", {F({3, 4}), F({4})}},
      {"MatMul", {F({4}), F({4})}},
      {"Gemm", {F({3, 4}), F({4, 5}), F({5})}},
      {"Gemm", {F({4, 3}), F({5, 4})}, transposed},
      {"MatMulInteger", {Bytes({2, 3, 4}), Bytes({4, 5})}},
      {"Einsum", {F({2, 3, 4}), F({2, 5, 4})}, Words("equation", "bid,bjd->bij")},
      {"Einsum", {F({1, 3, 4}), F({2, 4, 5})}, Words("equation", "...ij,...jk")},
      {"ReduceMean", {F({2, 3, 4}), I({-1})}},
      {"ReduceSum", {F({2, 3, 4}), I({0, 2})}, Int("keepdims", 0)},
      {"ReduceSum", {F({2, 3})}},
      {"ReduceSum", {F({2, 3})}, Int("noop_with_empty_axes", 1)},
      {"ReduceSum", {I({4, 5, 6}), I({0})}},
      {"ReduceProd", {I({4, 5, 6})}, Int("keepdims", 0)},
      {"ReduceProd", {I({})}},
      {"ReduceMax", {I({4, 6, 5})}},
      {"ReduceMin", {I({4, 6, 5}), I({0})}},
      {"ReduceMax", {I0(4)}},
      {"ReduceMean", {F({2, 3, 4})}, List("axes", {1}), 1, 13},
      {"CumSum", {F({2, 3}), I0(1)}},
      {"Softmax", {F({2, 3})}},
      {"Hardmax", {F({2, 3})}},
      {"ArgMax", {F({2, 3})}, Int("axis", -1)},
      {"ArgMin", {F({2, 3})}, Int("keepdims", 0)},
      {"TopK", {F({2, 5}), I({3})}, {}, 2},
      {"NonZero", {F({2, 3})}, {}, 1, 20, true},
      {"Unique", {I({3, 1, 3})}, {}, 4, 20, true},
      {"Unique", {F({2, 3})}, Int("axis", 1), 4, 20, true},
  });
}

TEST(InferSoundnessLayersTest, Layers) {
  const AttributeMap heads = {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}};
  ExpectSound({
      {"LayerNormalization", {F({2, 3, 4}), F({4}), F({4})}, {}, 3},
      {"LayerNormalization", {F({2, 3, 4}), F({3, 4})}, Int("axis", 1), 3},
      {"RMSNormalization", {F({2, 3, 4}), F({4})}, {}, 1, 23},
      {"SimplifiedLayerNormalization", {F({2, 3, 4}), F({4})}, {}, 2},
      {"GroupNormalization", {F({2, 4, 3}), F({4}), F({4})}, Int("num_groups", 2), 1, 21},
      {"InstanceNormalization", {F({2, 4, 3}), F({4}), F({4})}},
      {"BatchNormalization",
       {F({2, 4, 3}), F({4}), F({4}), F({4}), F({4})},
       Int("training_mode", 1),
       3},
      {"LpNormalization", {F({2, 3})}},
      {"Attention", {F({2, 4, 3, 8}), F({2, 2, 5, 8}), F({2, 2, 5, 6})}, {}, 4, 23},
      {"Attention",
       {F({2, 3, 32}), F({2, 5, 16}), F({2, 5, 12}), None(), F({2, 2, 7, 8}), F({2, 2, 7, 6})},
       heads,
       4,
       23},
      {"RotaryEmbedding", {F({2, 4, 3, 8}), F({2, 3, 4}), F({2, 3, 4})}, {}, 1, 23},
      {"LSTM", {F({3, 2, 4}), F({1, 20, 4}), F({1, 20, 5})}, Int("hidden_size", 5), 3},
      {"GRU", {F({3, 2, 4}), F({2, 15, 4}), F({2, 15, 5})}, Words("direction", "bidirectional"), 2},
      {"RNN", {F({2, 3, 4}), F({1, 5, 4}), F({1, 5, 5})}, Int("layout", 1), 2},
      {"QuantizeLinear", {F({2, 3}), Make<float>({}, {0.5F})}},
      {"DequantizeLinear", {Bytes({2, 3}), Make<float>({}, {0.5F})}},
      {"DynamicQuantizeLinear", {F({2, 3})}, {}, 3},
  });
}

TEST(InferSoundnessLayersTest, ImagesAndSignals) {
  const AttributeMap halved = {{"strides", Ints{2}}, {"pads", Ints{1, 2}}};
  const AttributeMap same = {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}};
  const AttributeMap rounded_up = {
      {"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  const AttributeMap transposed = {{"strides", Ints{2}}, {"output_padding", Ints{1}}};
  ExpectSound({
      {"Conv", {F({2, 4, 9}), F({6, 4, 3})}},
      {"Conv", {F({2, 4, 9}), F({6, 2, 3})}, {{"group", int64_t{2}}, {"dilations", Ints{2}}}},
      {"Conv", {F({2, 4, 9}), F({6, 4, 3})}, halved},
      {"Conv", {F({2, 4, 9}), F({6, 4, 3})}, same},
      {"Conv", {F({2, 4, 9}), F({6, 4, 3})}, Words("auto_pad", "VALID")},
      {"ConvInteger", {Bytes({1, 1, 4, 4}), Bytes({1, 1, 2, 3})}},
      {"ConvTranspose", {F({2, 4, 5}), F({4, 3, 3})}, transposed},
      {"ConvTranspose", {F({2, 4, 5}), F({4, 3, 3})}, same},
      {"ConvTranspose", {F({2, 4, 5}), F({4, 3, 3})}, List("output_shape", {6})},
      {"MaxPool", {F({2, 4, 9})}, List("kernel_shape", {2}), 2},
      {"MaxPool", {F({2, 4, 10})}, rounded_up, 2},
      {"AveragePool", {F({2, 4, 9})}, List("kernel_shape", {3})},
      {"GlobalAveragePool", {F({2, 4, 9})}},
      {"Resize", {F({1, 2, 4}), None(), Make<float>({3}, {1, 1, 2.5F})}},
      {"Resize", {F({1, 2, 4}), None(), None(), I({1, 2, 6})}},
      {"Resize", {F({1, 2, 4}), None(), Make<float>({1}, {0.6F})}, List("axes", {-1})},
      {"Upsample", {F({1, 2, 4}), Make<float>({3}, {1, 1, 2})}, {}, 1, 9},
      {"DFT", {F({2, 8, 1}), None(), I0(1)}},
      {"DFT", {F({2, 8, 1}), I0(6), I0(-2)}, Int("onesided", 1)},
      {"DFT", {F({2, 8, 1})}, Int("axis", 1), 1, 17},
      {"STFT", {F({2, 20, 1}), I0(3), None(), I0(8)}},
      {"STFT", {F({2, 20, 1}), I0(3), F({8})}, Int("onesided", 0)},
      {"HannWindow", {I0(8)}},
      {"MelWeightMatrix", {I0(4), I0(16), I0(8000), Make<float>({}, {0}), Make<float>({}, {4000})}},
  });
}

}  // namespace
}  // namespace attnrun::testing
