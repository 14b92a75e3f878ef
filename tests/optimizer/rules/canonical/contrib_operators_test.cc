// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;

// Sums of up to 32 products of normal numbers, then a softmax or a norm.
constexpr double kTolerance = 300 * kEpsilon;

constexpr int64_t kWidth = 8;

// Scaled so that products are of order 1. A name always gives the same numbers, because graphs are
// built twice.
Value* Weight(GraphBuilder& b, const std::string& name, const std::vector<int64_t>& shape) {
  std::seed_seq seed(name.begin(), name.end());
  std::mt19937 generator(seed);
  const float scale = shape.size() > 1 ? 0.35F : 0.5F;
  return b.Constant(name, RandomFloats(shape, generator, scale));
}

Value* Tokens(GraphBuilder& b, const char* name = "x", int64_t width = kWidth) {
  return b.Input(name, DataType::kFloat, {"batch", "seq", width});
}

TEST(ContribOperatorsTest, ExpandsToOneOperatorEach) {
  struct Row {
    const char* op_type;
    AttributeMap attributes;
    // The widths of constant rows that follow x as inputs.
    std::vector<int64_t> rows;
    const char* expected;
  };
  const Row table[] = {
      {"com.microsoft::Gelu", {}, {}, "Gelu"},
      {"com.microsoft::BiasGelu", {}, {8}, "Add Gelu"},
      {"com.microsoft::FastGelu", {}, {}, "Gelu"},
      {"com.microsoft::FastGelu", {}, {8}, "Add Gelu"},
      {"com.microsoft::QuickGelu", {{"alpha", 1.5F}}, {}, "Swish"},
      {"com.microsoft::BiasSplitGelu", {}, {8}, "Add attnrun.GatedActivation"},
      {"SimplifiedLayerNormalization", {{"epsilon", 1e-3F}}, {8}, "RMSNormalization"},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(row.op_type);
    OptimizerTester test([&](GraphBuilder& b) {
      std::vector<Value*> inputs = {Tokens(b)};
      std::mt19937 generator(7);
      for (const int64_t width : row.rows) {
        inputs.push_back(b.Constant("row", RandomFloats({width}, generator)));
      }
      b.Output(b.Op(row.op_type, inputs, row.attributes));
    });
    EXPECT_EQ(test.Ops(), row.expected);
    test.ExpectSameResults(kTolerance);
  }
}

TEST(ContribOperatorsTest, FusedProductsBecomeLinear) {
  OptimizerTester test([](GraphBuilder& b) {
    std::mt19937 generator(3);
    Value* weight = b.Constant("w", RandomFloats({5, kWidth}, generator, 0.35F));
    b.Output(b.Op("com.microsoft::FusedMatMul", {Tokens(b), weight},
                  {{"transB", int64_t{1}}, {"alpha", 0.5F}}));
  });
  EXPECT_EQ(test.Count("attnrun.Linear"), 1);
  EXPECT_EQ(test.Count("com.microsoft.FusedMatMul"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(ContribOperatorsTest, FusedMatMulMovesTheFirstAxis) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {5, 2, 3, 4});
    Value* y = b.Input("y", DataType::kFloat, {4, 2, 3, 6});
    b.Output(b.Op("com.microsoft::FusedMatMul", {x, y},
                  {{"transBatchA", int64_t{1}}, {"transBatchB", int64_t{1}}}));
  });
  EXPECT_EQ(test.Count("com.microsoft.FusedMatMul"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(ContribOperatorsTest, FusedGemm) {
  OptimizerTester test([](GraphBuilder& b) {
    std::mt19937 generator(3);
    Value* x = b.Input("x", DataType::kFloat, {"rows", kWidth});
    Value* w = b.Constant("w", RandomFloats({kWidth, 5}, generator, 0.35F));
    Value* bias = b.Constant("bias", RandomFloats({5}, generator));
    b.Output(b.Op("com.microsoft::FusedGemm", {x, w, bias},
                  {{"activation", std::string("Relu")}, {"activation_alpha", 0.0F}}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Linear");
  test.ExpectSameResults(kTolerance);
}

TEST(ContribOperatorsTest, StatisticsAreThoseOfTheNorm) {
  OptimizerTester test([](GraphBuilder& b) {
    std::mt19937 generator(3);
    Value* gamma = b.Constant("gamma", RandomFloats({kWidth}, generator));
    const auto outputs =
        b.Ops("com.microsoft::SkipLayerNormalization", 2, {Tokens(b), Tokens(b, "skip"), gamma});
    b.Output(outputs[0]).Output(outputs[1]);
  });
  EXPECT_EQ(test.Ops(), "Add LayerNormalization");
  test.ExpectSameResults(kTolerance);
}

TEST(ContribOperatorsTest, StatisticsThatAreReadKeepTheOperator) {
  OptimizerTester test([](GraphBuilder& b) {
    std::mt19937 generator(3);
    Value* gamma = b.Constant("gamma", RandomFloats({kWidth}, generator));
    const auto outputs = b.Ops("SimplifiedLayerNormalization", 2, {Tokens(b), gamma});
    b.Output(outputs[0]).Output(outputs[1]);
  });
  EXPECT_EQ(test.Ops(), "SimplifiedLayerNormalization");
  EXPECT_THAT(test.Misses("contrib_operators"), ElementsAre("its statistics are read"));
}

// One layer of BERT as ONNX Runtime's optimizer writes it.
Value* BertLayer(GraphBuilder& b, Value* x, Value* mask) {
  const auto microsoft = [&](const char* name, std::vector<Value*> inputs,
                             AttributeMap attributes = {}) {
    return b.Op(std::string("com.microsoft::") + name, std::move(inputs), std::move(attributes));
  };
  const auto norm = [&](Value* product, Value* skip) {
    return microsoft("SkipLayerNormalization",
                     {product, skip, Weight(b, "gamma", {kWidth}), Weight(b, "beta", {kWidth}),
                      Weight(b, "bias", {kWidth})},
                     {{"epsilon", 1e-5F}});
  };
  Value* attended =
      microsoft("Attention",
                {x, Weight(b, "qkv", {kWidth, 3 * kWidth}), Weight(b, "qkv_b", {3 * kWidth}), mask},
                {{"num_heads", int64_t{2}}});
  x = norm(b.Op("MatMul", {attended, Weight(b, "o", {kWidth, kWidth})}), x);
  Value* wide = b.Op("MatMul", {x, Weight(b, "up", {kWidth, 16})});
  wide = microsoft("BiasGelu", {wide, Weight(b, "up_b", {16})});
  return norm(b.Op("MatMul", {wide, Weight(b, "down", {16, kWidth})}), x);
}

TEST(ContribOperatorsTest, ALayerOfBertBecomesSevenNodes) {
  OptimizerTester test([](GraphBuilder& b) { b.Output(BertLayer(b, Tokens(b), nullptr)); });
  EXPECT_EQ(test.Ops(), "LayerNormalization*2 attnrun.Attention attnrun.Linear*4");
  test.ExpectSameResults(kTolerance);
}

TEST(ContribOperatorsTest, AcceptsMasksOfAllForms) {
  const std::pair<std::vector<DimSpec>, Tensor> masks[] = {
      {{"batch", "seq"}, Make<int32_t>({2, 3}, {1, 1, 0, 0, 1, 1})},
      {{"batch", "seq", "seq"}, Make<int32_t>({2, 3, 3}, std::vector<int32_t>(18, 1))},
      {{"batch"}, Make<int32_t>({2}, {3, 1})},
  };
  for (const auto& [dims, mask] : masks) {
    OptimizerTester test([&](GraphBuilder& b) {
      const size_t rank = dims.size();
      Value* input = rank == 1   ? b.Input("mask", DataType::kInt32, {dims[0]})
                     : rank == 2 ? b.Input("mask", DataType::kInt32, {dims[0], dims[1]})
                                 : b.Input("mask", DataType::kInt32, {dims[0], dims[1], dims[2]});
      b.Output(BertLayer(b, Tokens(b), input));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("com.microsoft.Attention"), 0);
    test.Dim("batch", 2).Dim("seq", 3).Feed("mask", mask);
    // A score next to -10000 loses as many bits of its float.
    test.ExpectSameResults(2e4 * kEpsilon);
  }
  // The extent does not show whether the mask holds ends, or ends and beginnings.
  OptimizerTester test([](GraphBuilder& b) {
    b.Output(BertLayer(b, Tokens(b), b.Input("mask", DataType::kInt32, {"samples"})));
  });
  EXPECT_THAT(test.Misses("contrib_operators"), ElementsAre("it is not known what its mask says"));
}

TEST(ContribOperatorsTest, PackedAttentionWithPast) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* past = b.Input("past", DataType::kFloat, {2, "batch", 2, "before", 4});
    const auto outputs =
        b.Ops("com.microsoft::Attention", 2,
              {Tokens(b), Weight(b, "qkv", {kWidth, 3 * kWidth}), nullptr, nullptr, past},
              {{"num_heads", int64_t{2}}, {"unidirectional", int64_t{1}}});
    b.Output(outputs[0]).Output(outputs[1]);
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("com.microsoft.Attention"), 0);
  test.ExpectSameResults(kTolerance);
  test.Dim("before", 0).ExpectSameResults(kTolerance);
}

TEST(ContribOperatorsTest, MultiHeadAttentionOfThreeProjections) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Tokens(b);
    std::vector<Value*> inputs;
    for (const char* name : {"q", "k", "v"}) {
      inputs.push_back(b.Op("MatMul", {x, Weight(b, name, {kWidth, kWidth})}));
    }
    inputs.push_back(Weight(b, "bias", {3 * kWidth}));
    b.Output(b.Op("com.microsoft::MultiHeadAttention", inputs,
                  {{"num_heads", int64_t{2}}, {"unidirectional", int64_t{1}}}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention attnrun.Linear");
  test.ExpectSameResults(kTolerance);
}

TEST(ContribOperatorsTest, MultiHeadAttentionOnKeysOfAnEncoder) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, "keys", 4});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 2, "keys", 4});
    b.Output(b.Op("com.microsoft::MultiHeadAttention",
                  {Tokens(b), k, v, Weight(b, "bias", {3 * kWidth})}, {{"num_heads", int64_t{2}}}));
  });
  EXPECT_EQ(test.Ops(), "Add attnrun.Attention");
  test.Dim("keys", 5).ExpectSameResults(kTolerance);
}

struct Grouped {
  AttributeMap attributes = {};
  bool packed = true;
  bool positions = false;
  bool bias = false;
  bool sinks = false;
};

// Four query heads on two key/value heads of 4 channels, with rotary tables of 16 positions.
OptimizerTester GroupQuery(const Grouped& form) {
  return OptimizerTester([form](GraphBuilder& b) {
    std::mt19937 generator(5);
    Value* x = Tokens(b);
    std::vector<Value*> inputs = {nullptr, nullptr, nullptr};
    if (form.packed) {
      inputs[0] = b.Op("MatMul", {x, Weight(b, "qkv", {kWidth, 32})});
    } else {
      inputs = {b.Op("MatMul", {x, Weight(b, "q", {kWidth, 16})}),
                b.Op("MatMul", {x, Weight(b, "k", {kWidth, 8})}),
                b.Op("MatMul", {x, Weight(b, "v", {kWidth, 8})})};
    }
    for (const char* name : {"past_k", "past_v"}) {
      inputs.push_back(b.Input(name, DataType::kFloat, {"batch", 2, "before", 4}));
    }
    inputs.push_back(b.Input("last", DataType::kInt32, {"batch"}));
    inputs.push_back(b.Input("total", DataType::kInt32, {}));
    for (const char* name : {"cos", "sin"}) {
      inputs.push_back(b.Constant(name, RandomFloats({16, 2}, generator)));
    }
    if (form.positions) {
      inputs.push_back(b.Input("positions", DataType::kInt64, {"batch", "seq"}));
    } else if (form.bias || form.sinks) {
      inputs.push_back(nullptr);
    }
    if (form.bias) inputs.push_back(b.Input("bias", DataType::kFloat, {1, 4, "seq", "keys"}));
    if (form.sinks) {
      inputs.push_back(nullptr);
      inputs.push_back(b.Constant("sinks", RandomFloats({4}, generator)));
    }
    AttributeMap attributes = form.attributes;
    attributes["num_heads"] = int64_t{4};
    attributes["kv_num_heads"] = int64_t{2};
    attributes["do_rotary"] = int64_t{1};
    for (Value* output : b.Ops("com.microsoft::GroupQueryAttention", 3, inputs, attributes)) {
      b.Output(output);
    }
  });
}

void ExpectSameWhereverTokensStand(OptimizerTester& test, bool slides) {
  struct Place {
    int64_t before, seq;
    std::vector<int32_t> last;
    int32_t total;
  };
  const Place full[] = {{0, 3, {2, 0}, 3}, {3, 1, {3, 1}, 4}, {4, 1, {2, 1}, 3}, {2, 3, {4, 4}, 5}};
  const Place sliding[] = {{3, 1, {2, 5}, 6}, {4, 3, {2, 0}, 3}, {3, 5, {9, 9}, 10}};
  for (const Place& place : slides ? absl::MakeSpan(sliding) : absl::MakeSpan(full)) {
    test.Dim("batch", 2).Dim("before", place.before).Dim("seq", place.seq);
    test.Dim("keys", place.total);
    test.Feed("last", Make<int32_t>({2}, place.last));
    test.Feed("total", Make<int32_t>({}, {place.total}));
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < 2 * place.seq; ++i) positions.push_back(i * 7 % 16);
    test.Feed("positions", Make<int64_t>({2, place.seq}, positions));
    test.ExpectSameResults(kTolerance);
  }
}

TEST(ContribOperatorsTest, GroupQueryAttention) {
  const Grouped forms[] = {
      {},
      {.packed = false},
      {.positions = true},
      {.attributes = {{"softcap", 2.0F}, {"scale", 0.3F}}, .bias = true},
      {.attributes = {{"local_window_size", int64_t{2}}}, .sinks = true},
      {.attributes = {{"smooth_softmax", int64_t{1}}, {"rotary_interleaved", int64_t{1}}}},
      {.attributes = {{"causal", int64_t{0}}}},
  };
  for (const Grouped& form : forms) {
    OptimizerTester test = GroupQuery(form);
    EXPECT_EQ(test.Count("attnrun.Linear"), 1);
    EXPECT_EQ(test.Count("attnrun.RotaryEmbedding"), 1);
    EXPECT_EQ(test.Count("attnrun.AppendToCache"), 2);
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("com.microsoft.GroupQueryAttention"), 0);
    ExpectSameWhereverTokensStand(test, false);
  }
}

TEST(ContribOperatorsTest, GroupQueryAttentionWithASlidingCache) {
  OptimizerTester test = GroupQuery(
      {.attributes = {{"local_window_size", int64_t{3}}, {"sliding_window_cache", int64_t{1}}}});
  EXPECT_EQ(test.Count("attnrun.AppendToCache"), 4);
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  ExpectSameWhereverTokensStand(test, true);
}

TEST(ContribOperatorsTest, HeadsOnTheRowAxisAreNormalizedInPlace) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Tokens(b);
    const auto heads = [&](Value* rows, const char* name) {
      rows = b.Op("Reshape", {rows, b.Constant<int64_t>("split", {3}, {0, -1, 4})});
      rows = b.Op("SimplifiedLayerNormalization", {rows, Weight(b, name, {4})});
      return b.Op("Reshape", {rows, b.Constant<int64_t>("merged", {3}, {0, -1, kWidth})});
    };
    std::vector<Value*> inputs;
    for (const char* name : {"q", "k", "v"}) {
      inputs.push_back(b.Op("MatMul", {x, Weight(b, name, {kWidth, kWidth})}));
    }
    inputs[0] = heads(inputs[0], "q_norm");
    inputs[1] = heads(inputs[1], "k_norm");
    b.Output(b.Op("com.microsoft::MultiHeadAttention", inputs, {{"num_heads", int64_t{2}}}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention attnrun.HeadRmsNormalization attnrun.Linear");
  test.ExpectSameResults(kTolerance);
}

TEST(ContribOperatorsTest, EmbeddingsOfBert) {
  for (const bool segments : {true, false}) {
    OptimizerTester test([&](GraphBuilder& b) {
      const auto ids = [&](const char* name) {
        return b.Input(name, DataType::kInt32, {"batch", "seq"});
      };
      std::vector<Value*> inputs = {ids("ids"),
                                    segments ? ids("types") : nullptr,
                                    Weight(b, "words", {2, kWidth}),
                                    Weight(b, "positions", {16, kWidth}),
                                    segments ? Weight(b, "segments", {2, kWidth}) : nullptr,
                                    Weight(b, "gamma", {kWidth}),
                                    Weight(b, "beta", {kWidth}),
                                    ids("mask")};
      for (Value* output : b.Ops("com.microsoft::EmbedLayerNormalization", 3, inputs)) {
        b.Output(output);
      }
    });
    EXPECT_EQ(test.Count("attnrun.EmbeddingSum"), 1);
    EXPECT_EQ(test.Count("com.microsoft.EmbedLayerNormalization"), 0);
    test.ExpectSameResults(kTolerance);
  }
}

TEST(ContribOperatorsTest, RotaryEmbeddingFromOnePosition) {
  OptimizerTester test([](GraphBuilder& b) {
    std::mt19937 generator(5);
    Value* first = b.Input("first", DataType::kInt64, {1});
    Value* cos = b.Constant("cos", RandomFloats({16, 2}, generator));
    Value* sin = b.Constant("sin", RandomFloats({16, 2}, generator));
    b.Output(b.Op("com.microsoft::RotaryEmbedding", {Tokens(b), first, cos, sin}));
  });
  EXPECT_EQ(test.Count("com.microsoft.RotaryEmbedding"), 0);
  test.Feed("first", Make<int64_t>({1}, {4})).ExpectSameResults(kTolerance);
}

TEST(ContribOperatorsTest, QuantizedProductsBecomeIntegerProducts) {
  for (const bool dynamic : {false, true}) {
    for (const DataType type : {DataType::kInt8, DataType::kUint8}) {
      OptimizerTester test([&](GraphBuilder& b) {
        std::mt19937 generator(3);
        const int64_t low = type == DataType::kInt8 ? -128 : 0;
        Value* weight = b.Constant("w", RandomInts(type, {kWidth, 5}, generator, low, low + 255));
        Value* scale = b.Constant("scale", RandomFloats({5}, generator, 0.01F));
        Value* zero = b.Constant("zero", RandomInts(type, {5}, generator, low, low + 255));
        Value* bias = b.Constant("bias", RandomFloats({5}, generator));
        Value* x_scale = b.Constant("x_scale", Make<float>({1}, {0.02F}));
        Value* x_zero = b.Constant("x_zero", Make<uint8_t>({1}, {100}));
        Value* codes = dynamic ? nullptr : b.Op("QuantizeLinear", {Tokens(b), x_scale, x_zero});
        b.Output(dynamic ? b.Op("com.microsoft::DynamicQuantizeMatMul",
                                {Tokens(b), weight, scale, zero, bias})
                         : b.Op("com.microsoft::MatMulIntegerToFloat",
                                {codes, weight, x_scale, scale, x_zero, zero, bias}));
      });
      EXPECT_EQ(test.Count("com.microsoft.DynamicQuantizeMatMul"), 0);
      EXPECT_EQ(test.Count("com.microsoft.MatMulIntegerToFloat"), 0);
      test.ExpectSameResults(kTolerance);
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
