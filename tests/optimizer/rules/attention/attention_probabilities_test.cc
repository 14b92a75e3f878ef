// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Scores are sums of 4 products of numbers up to 5, whose errors the exponential magnifies.
constexpr double kTolerance = 256 * kEpsilon;

Value* Softmax(GraphBuilder& b, const std::string& queries = "queries") {
  Value* q = b.Input(queries, DataType::kFloat, {"batch", 2, queries, 4});
  Value* k = b.Input("keys of " + queries, DataType::kFloat, {"batch", 2, "keys", 4});
  return b.Op("Softmax", {b.Op("MatMul", {q, Transposed(b, k, {0, 1, 3, 2})})},
              {{"axis", int64_t{-1}}});
}

Value* Values(GraphBuilder& b) { return b.Input("v", DataType::kFloat, {"batch", 2, 4, "keys"}); }

TEST(AttentionProbabilitiesTest, ValuesMayHaveChannelsFirst) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* v = Values(b);
    b.Output(b.Op("MatMul", {v, Transposed(b, Softmax(b), {0, 1, 3, 2})}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul"), 0);
  test.Dim("keys", 5).ExpectSameResults(kTolerance);
}

TEST(AttentionProbabilitiesTest, TransposedProbabilitiesMayHaveOtherReaders) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* v = Values(b);
    Value* turned = Transposed(b, Softmax(b), {0, 1, 3, 2});
    b.Output(b.Op("MatMul", {v, turned}));
    b.Output(turned);
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.Dim("keys", 5).ExpectSameResults(kTolerance);
}

// DeBERTa masks the probabilities, too, so that a row without a key is 0. tf2onnx writes the choice
// as a product with the mask, and adds the zeros.
OptimizerTester MaskedTwice(bool as_product, bool negated,
                            const std::function<Value*(GraphBuilder&)>& bias = nullptr) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, "queries", 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, "keys", 4});
    Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, "queries", "keys"});
    Value* least = b.Constant<float>("least", {}, {std::numeric_limits<float>::lowest()});
    Value* zero = b.Constant<float>("zero", {}, {0});
    Value* scores = b.Op("MatMul", {q, Transposed(b, k, {0, 1, 3, 2})});
    if (bias != nullptr) scores = b.Op("Add", {scores, bias(b)});
    const auto chosen = [&](Value* x, Value* other) {
      return negated ? b.Op("Where", {mask, other, x}) : b.Op("Where", {mask, x, other});
    };
    Value* p = b.Op("Softmax", {chosen(scores, least)}, {{"axis", int64_t{-1}}});
    const AttributeMap to_float = {{"to", int64_t{1}}};
    Value* open = b.Op("Cast", {negated ? b.Op("Not", {mask}) : mask}, to_float);
    Value* closed = b.Op("Cast", {negated ? mask : b.Op("Not", {mask})}, to_float);
    Value* kept = as_product ? b.Op("Add", {b.Op("Mul", {closed, zero}), b.Op("Mul", {p, open})})
                             : chosen(p, zero);
    b.Output(b.Op("MatMul", {kept, Transposed(b, Values(b), {0, 1, 3, 2})}));
  });
}

TEST(AttentionProbabilitiesTest, ASecondMaskMakesRowsZero) {
  for (const bool as_product : {false, true}) {
    for (const bool negated : {false, true}) {
      OptimizerTester test = MaskedTwice(as_product, negated);
      EXPECT_EQ(test.Count("attnrun.Attention"), 1);
      EXPECT_EQ(test.Count("Mul") + test.Count("Where") + test.Count("Cast"), 0);
      test.Dim("keys", 5).ExpectSameResults(kTolerance);
    }
  }
}

// A causal bias leaves rows whose only open keys the mask closes: such a row is 0, and its other
// keys must not get the weight. A table of small numbers leaves none.
TEST(AttentionProbabilitiesTest, ASecondMaskBesideABiasThatMayMaskStays) {
  OptimizerTester given = MaskedTwice(false, false, [](GraphBuilder& b) {
    return b.Input("bias", DataType::kFloat, {1, 1, "queries", "keys"});
  });
  EXPECT_EQ(given.Count("attnrun.Attention"), 0);
  given.Dim("keys", 5).ExpectSameResults(kTolerance);
  OptimizerTester causal = MaskedTwice(false, false, [](GraphBuilder& b) {
    Value* open = b.Input("open", DataType::kBool, {1, 1, "queries", "keys"});
    return b.Op("Where", {open, b.Constant<float>("zero", {}, {0}),
                          b.Constant<float>("closed", {}, {-1e9F})});
  });
  EXPECT_EQ(causal.Count("attnrun.Attention"), 0);
  causal.Dim("keys", 5).ExpectSameResults(kTolerance);
  OptimizerTester table = MaskedTwice(false, false, [](GraphBuilder& b) {
    Value* slopes = b.Constant<float>("slopes", {1, 2, 1, 1}, {3, -4});
    Value* positions = b.Input("positions", DataType::kInt64, {"keys"});
    return b.Op("Mul", {slopes, b.Op("Cast", {positions}, {{"to", int64_t{1}}})});
  });
  EXPECT_EQ(table.Count("attnrun.Attention"), 1);
  table.Dim("keys", 5).ExpectSameResults(kTolerance);
}

// Found by the fuzzer: 0 times NaN is NaN. Some rows of two keys have none.
TEST(AttentionProbabilitiesTest, AProductWithTheMaskKeepsNan) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, "queries", 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, "keys", 4});
    Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, "queries", "keys"});
    Value* closed = b.Constant<float>("closed", {}, {-std::numeric_limits<float>::infinity()});
    Value* scores = b.Op("MatMul", {q, Transposed(b, k, {0, 1, 3, 2})});
    Value* p = b.Op("Softmax", {b.Op("Where", {mask, scores, closed})}, {{"axis", int64_t{-1}}});
    Value* kept = b.Op("Mul", {p, b.Op("Cast", {mask}, {{"to", int64_t{1}}})});
    b.Output(b.Op("MatMul", {kept, Transposed(b, Values(b), {0, 1, 3, 2})}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.Dim("keys", 2).ExpectSameResults(kTolerance);
}

// Found by the fuzzer: such scores were read beyond their axes.
TEST(AttentionProbabilitiesTest, ANumberWithMoreAxesThanTheScoresStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", "queries", 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", "keys", 4});
    Value* scores = b.Op("MatMul", {q, Transposed(b, k, {0, 2, 1})});
    Value* scale = b.Constant<float>("scale", {1, 1, 1, 1, 1}, {0.5F});
    Value* p = b.Op("Softmax", {b.Op("Mul", {scores, scale})}, {{"axis", int64_t{-1}}});
    b.Output(b.Op("MatMul", {p, b.Input("values", DataType::kFloat, {"keys", 4})}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  test.Dim("keys", 5).ExpectSameResults(kTolerance);
}

// As dynamic quantization of products of computed values leaves them.
TEST(AttentionProbabilitiesTest, RoundedProbabilitiesAreReported) {
  const OptimizerTester test([](GraphBuilder& b) {
    const std::vector<Value*> p = b.Ops("DynamicQuantizeLinear", 3, {Softmax(b)});
    const std::vector<Value*> v = b.Ops("DynamicQuantizeLinear", 3, {Values(b)});
    Value* rows = Transposed(b, v[0], {0, 1, 3, 2});
    b.Output(b.Op("MatMulInteger", {p[0], rows, p[2], v[2]}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_THAT(test.Misses("attention"),
              ElementsAre(AllOf(HasSubstr("(DynamicQuantizeLinear)"),
                                HasSubstr("rounds the probabilities to integers"))));
}

TEST(AttentionProbabilitiesTest, OtherProductsStay) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 2, "keys", 5});
    b.Output(b.Op(
        "MatMul",
        {Values(b), Transposed(b, b.Op("Relu", {Transposed(b, x, {0, 1, 3, 2})}), {0, 1, 3, 2})}));
    b.Output(b.Op("MatMul", {Softmax(b, "a"), Transposed(b, Softmax(b, "b"), {0, 1, 3, 2})}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  test.Dim("keys", 5).ExpectSameResults(kTolerance);
}

TEST(AttentionProbabilitiesTest, ASoftmaxOfUnknownRankStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* extents = b.Input("extents", DataType::kInt64, {"rank"});
    Value* x = b.Op("Reshape", {b.Input("x", DataType::kFloat, {"n"}), extents});
    b.Output(Transposed(b, b.Op("Softmax", {x}, {{"axis", int64_t{-2}}}), {0, 1, 3, 2}));
  });
  EXPECT_EQ(test.Ops(), "Reshape Softmax Transpose");
  test.Dim("n", 24).Feed("extents", Make<int64_t>({4}, {1, 2, 3, 4})).ExpectSameResults(kTolerance);
}

// The run refuses such a file.
TEST(AttentionProbabilitiesTest, InvalidPermutationsStay) {
  for (const int64_t axis : {0, 4, 1 << 20, -1}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* p = b.Op("Transpose", {Softmax(b)}, {{"perm", std::vector<int64_t>{0, axis, 2, 3}}});
      b.Output(b.Op("MatMul", {p, Transposed(b, Values(b), {0, 1, 3, 2})}));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 0) << axis;
  }
}

// ESM's MSA attention: scores [heads, samples], results [samples, heads].
TEST(AttentionProbabilitiesTest, SamplesAndHeadsMayChangePlaces) {
  const auto heads_first = [](GraphBuilder& b, Value* x) { return Transposed(b, x, {1, 0, 2, 3}); };
  OptimizerTester test([&](GraphBuilder& b) {
    Value* q = heads_first(b, Heads(b, Input(b, "q")));
    Value* k = heads_first(b, Heads(b, Input(b, "k"), true));
    Value* p = heads_first(b, b.Op("Softmax", {b.Op("MatMul", {q, k})}));
    b.Output(testing::Finish(b, p));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  test.ExpectSameResults(kAttentionTolerance);
}

}  // namespace
}  // namespace attnrun::testing
