// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "optimizer/analysis/facts.h"
#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int64_t kWidth = 8;
// 1 / sqrt(kWidth), so that products are as large as their inputs and scores stay so small that the
// Softmax does not magnify rounding errors.
constexpr float kWeightScale = 0.35F;
// Sums of 8 products, through two layers of products and a Softmax.
constexpr double kTolerance = 256 * kEpsilon;

Value* Weight(GraphBuilder& b, int seed, const std::vector<int64_t>& shape = {kWidth, kWidth}) {
  std::mt19937 generator(seed);
  return b.Constant("w", RandomFloats(shape, generator, kWeightScale));
}
Value* Product(GraphBuilder& b, Value* x, int seed) { return b.Op("MatMul", {x, Weight(b, seed)}); }

Value* Norm(GraphBuilder& b, Value* x) {
  return b.Op("LayerNormalization",
              {x, b.Constant<float>("scale", {kWidth}, {1, 2, 1, 1, 3, 1, 1, 2})});
}

Value* Hidden(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", "seq", kWidth}); }

// [B,S,D] to [B,2,S,D/2].
Value* Heads(GraphBuilder& b, Value* x) {
  x = b.Op("Reshape", {x, b.Constant<int64_t>("s", {4}, {0, 0, 2, kWidth / 2})});
  return b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

// The softmax of the scores with one more column, which is dropped afterwards.
Value* SoftmaxWithSinks(GraphBuilder& b, Value* scores, Value* sinks) {
  Value* all = b.Op("Concat", {scores, sinks}, {{"axis", int64_t{-1}}});
  return testing::Sliced(b, b.Op("Softmax", {all}), 0, -1, -1);
}

// Attention over x [B,S,D] with its residual. `bias` is added to the scores; `sinks` are one more
// column of scores.
Value* AttentionLayer(GraphBuilder& b, Value* x, Value* bias, int seed, Value* sinks = nullptr) {
  Value* n = Norm(b, x);
  Value* q = Heads(b, Product(b, n, seed + 1));
  Value* k = b.Op("Transpose", {Heads(b, Product(b, n, seed + 2))},
                  {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  Value* scores = b.Op("MatMul", {q, k});
  if (bias != nullptr) scores = b.Op("Add", {scores, bias});
  Value* p = sinks == nullptr ? b.Op("Softmax", {scores}, {{"axis", int64_t{-1}}})
                              : SoftmaxWithSinks(b, scores, sinks);
  Value* y = b.Op("Transpose", {b.Op("MatMul", {p, Heads(b, Product(b, n, seed + 3))})},
                  {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  y = b.Op("Reshape", {y, b.Constant<int64_t>("s", {3}, {0, 0, kWidth})});
  return b.Op("Add", {x, Product(b, y, seed + 4)});
}

Value* FeedForward(GraphBuilder& b, Value* x, int seed = 0) {
  Value* inner = b.Op("Gelu", {Product(b, Norm(b, x), seed + 5)});
  return b.Op("Add", {Product(b, inner, seed + 6), x});
}

// Each `seed` gives other weights.
Value* Layer(GraphBuilder& b, Value* x, Value* bias = nullptr, int seed = 0) {
  return FeedForward(b, AttentionLayer(b, x, bias, seed), seed);
}

// -inf if the key comes after the query.
Value* CausalBias(GraphBuilder& b, Value* x) {
  Value* length = b.Op("Gather", {b.Op("Shape", {x}), Scalar(b, 1)});
  Value* keys = b.Op("Range", {Scalar(b, 0), length, Scalar(b, 1)});
  Value* queries = b.Op("Unsqueeze", {keys, b.Constant<int64_t>("a", {1}, {1})});
  Value* open = b.Op("LessOrEqual", {keys, queries});
  return b.Op("Where", {open, b.Constant<float>("zero", {}, {0}),
                        b.Constant<float>("closed", {}, {-INFINITY})});
}

Value* Position(GraphBuilder& b, Value* x, int64_t position, int64_t axis = 1) {
  return b.Op("Gather", {x, b.Constant<int64_t>("i", {}, {position})}, {{"axis", axis}});
}

Value* Sliced(GraphBuilder& b, Value* x, int64_t start, int64_t end) {
  return testing::Sliced(b, x, start, end, 1);
}

// The numbers of rows that a run computes in products with weights: [B, rows, ...] of each Linear.
std::vector<std::string> LinearRows(const OptimizerTester& test) {
  std::vector<std::string> rows;
  opt::Facts facts(test.graph());
  for (const Node* node : test.graph().nodes()) {
    if (node->qualified_op_type() != "attnrun.Linear") continue;
    rows.push_back(facts.DimsOf(node->output(0))->at(1).ToString());
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// One row of Q, of the projection of the heads and of both products of the feed-forward network;
// all rows of the merged K and V.
const std::vector<std::string> kOneRowButKeys = {"1", "1", "1", "1", "seq"};

TEST(NeededRowsTest, AClassifiersLastLayerComputesOneRow) {
  OptimizerTester test([](GraphBuilder& b) {
    b.Output(Product(b, Position(b, Norm(b, Layer(b, Hidden(b))), 0), 7));
  });
  EXPECT_EQ(test.Applied("needed_rows"), 1);
  test.Dim("seq", 5).ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, FollowsEverySpellingOfOnePosition) {
  const auto spellings = std::vector<std::function<Value*(GraphBuilder&, Value*)>>{
      [](GraphBuilder& b, Value* x) { return Position(b, x, 0); },
      [](GraphBuilder& b, Value* x) { return Position(b, x, -1); },
      [](GraphBuilder& b, Value* x) {
        return b.Op("Gather", {x, b.Constant<int64_t>("i", {1}, {0})}, {{"axis", int64_t{1}}});
      },
      [](GraphBuilder& b, Value* x) { return Position(b, x, 0, -2); },
      [](GraphBuilder& b, Value* x) {
        return b.Op("Squeeze", {Sliced(b, x, 0, 1), b.Constant<int64_t>("a", {1}, {1})});
      },
  };
  for (const auto& spelling : spellings) {
    OptimizerTester test([&](GraphBuilder& b) { b.Output(spelling(b, Layer(b, Hidden(b)))); });
    EXPECT_EQ(test.Applied("needed_rows"), 1);
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    for (const int64_t length : {1, 4, 7}) test.Dim("seq", length).ExpectSameResults(kTolerance);
  }
}

TEST(NeededRowsTest, KeysAndValuesStayWhole) {
  OptimizerTester test([](GraphBuilder& b) { b.Output(Position(b, Layer(b, Hidden(b)), 2)); });
  EXPECT_EQ(LinearRows(test), kOneRowButKeys);
  test.Dim("seq", 6).ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, OnlyTheLastLayerIsCut) {
  OptimizerTester test([](GraphBuilder& b) {
    b.Output(Position(b, Layer(b, Layer(b, Hidden(b), nullptr, 20)), 0));
  });
  const std::vector<std::string> expected = {"1", "1", "1", "1", "seq", "seq", "seq", "seq", "seq"};
  EXPECT_EQ(LinearRows(test), expected);
  test.Dim("seq", 4).ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, CausalQueriesKeepTheirPositions) {
  for (const int64_t position : {0, -1}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* x = Hidden(b);
      b.Output(Position(b, Layer(b, x, CausalBias(b, x)), position));
    });
    EXPECT_EQ(LinearRows(test), kOneRowButKeys);
    test.Dim("seq", 6).ExpectSameResults(kTolerance);
  }
}

TEST(NeededRowsTest, ACausalAttentionKeepsAllRowsForAMiddleOne) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Hidden(b);
    b.Output(Position(b, Layer(b, x, CausalBias(b, x)), 2));
  });
  // The nodes after the attention are cut nevertheless.
  const std::vector<std::string> expected = {"1", "1", "1", "seq"};
  EXPECT_EQ(LinearRows(test), expected);
  test.Dim("seq", 6).ExpectSameResults(kTolerance);
}

// A selected sample needs the keys and values of that sample alone, however queries are masked.
TEST(NeededRowsTest, ASampleIsSelectedThroughACausalAttention) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Hidden(b);
    b.Output(Position(b, Layer(b, x, CausalBias(b, x)), 1, 0));
  });
  EXPECT_EQ(test.Applied("needed_rows"), 1);
  for (const Node* node : test.graph().nodes()) {
    if (node->op_type() != "Gather") continue;
    EXPECT_TRUE(node->input(0)->is_input()) << node->description();
  }
  test.Dim("batch", 3).ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, ABiasPerQueryIsSelected) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* bias = b.Input("bias", DataType::kFloat, {1, 2, "seq", "seq"});
    b.Output(Position(b, Layer(b, Hidden(b), bias), 1));
  });
  EXPECT_EQ(LinearRows(test), kOneRowButKeys);
  test.Dim("seq", 5).ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, SinksPerQueryAreSelected) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* sinks = b.Input("sinks", DataType::kFloat, {"batch", 2, "seq", 1});
    b.Output(Position(b, FeedForward(b, AttentionLayer(b, Hidden(b), nullptr, 0, sinks)), 1));
  });
  EXPECT_EQ(LinearRows(test), kOneRowButKeys);
  test.Dim("seq", 5).ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, TheLastTwoRowsOfLogitsAreSelected) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Hidden(b);
    Value* logits =
        b.Op("MatMul", {Norm(b, Layer(b, x, CausalBias(b, x))), Weight(b, 9, {kWidth, 20})});
    b.Output(Sliced(b, logits, -2, INT64_MAX));
  });
  EXPECT_EQ(test.Applied("needed_rows"), 1);
  for (const int64_t length : {1, 2, 7}) test.Dim("seq", length).ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, ARowPerSampleIsSelected) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* index = b.Input("index", DataType::kInt64, {"batch", 1});
    Value* y = Norm(b, FeedForward(b, Hidden(b)));
    b.Output(b.Op("GatherND", {y, index}, {{"batch_dims", int64_t{1}}}));
  });
  const std::vector<std::string> expected = {"1", "1"};
  EXPECT_EQ(LinearRows(test), expected);
  test.Dim("seq", 4).ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, RotaryAnglesAreSelected) {
  OptimizerTester test(
      [](GraphBuilder& b) {
        Value* x = Hidden(b);
        Value* cos = b.Input("cos", DataType::kFloat, {1, "seq", 2});
        Value* sin = b.Input("sin", DataType::kFloat, {1, "seq", 2});
        Value* q = b.Op("RotaryEmbedding", {Heads(b, Product(b, x, 1)), cos, sin});
        Value* k = b.Op("RotaryEmbedding", {Heads(b, Product(b, x, 2)), cos, sin});
        Value* y =
            b.Op("Attention", {q, k, Heads(b, Product(b, x, 3))}, {{"is_causal", int64_t{1}}});
        b.Output(Position(b, y, -1, 2));
      },
      {}, 23);
  EXPECT_EQ(test.Applied("needed_rows"), 1);
  const std::vector<std::string> expected = {"1", "seq"};
  EXPECT_EQ(LinearRows(test), expected);
  test.Dim("seq", 5).ExpectSameResults(kTolerance);
}

// Rows are followed through a Transpose by its permutation; a missing one reverses the axes, and
// axes may count from the end.
TEST(NeededRowsTest, RowsMayBeTransposed) {
  const auto with = [](const AttributeMap& permutation, int64_t axis) {
    return OptimizerTester([&](GraphBuilder& b) {
      Value* rows = b.Op("Gelu", {Product(b, Hidden(b), 3)});
      b.Output(Position(b, b.Op("Transpose", {rows}, permutation), 0, axis));
    });
  };
  const auto listed = [](std::vector<int64_t> axes) {
    return AttributeMap{{"perm", std::move(axes)}};
  };
  const OptimizerTester written_out = with(listed({0, 2, 1}), 2);
  const OptimizerTester left_out = with({}, 1);
  const OptimizerTester from_the_end = with(listed({0, 2, -2}), 2);
  EXPECT_EQ(written_out.Applied("needed_rows"), 1);
  EXPECT_EQ(left_out.Applied("needed_rows"), 1);
  EXPECT_EQ(from_the_end.Applied("needed_rows"), 1);
  for (const OptimizerTester* test : {&written_out, &left_out, &from_the_end}) {
    test->ExpectSameResults(kTolerance);
  }
}

TEST(NeededRowsTest, AGraphOutputKeepsAllItsRows) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* y = Norm(b, Layer(b, Hidden(b)));
    b.Output(y).Output(Position(b, y, 0));
  });
  EXPECT_EQ(test.Applied("needed_rows"), 0);
  EXPECT_THAT(test.Misses("needed_rows"), Contains(HasSubstr("it is a graph output")));
  test.ExpectSameResults(kTolerance);
}

// A pooled output and the first token, in any spelling.
TEST(NeededRowsTest, RowsMayBeSelectedTwice) {
  const std::vector<std::function<Value*(GraphBuilder&, Value*)>> others = {
      [](GraphBuilder& b, Value* y) { return Position(b, Norm(b, y), 0); },
      [](GraphBuilder& b, Value* y) { return Sliced(b, y, 0, 1); },
      [](GraphBuilder& b, Value* y) {
        return b.Op("Gather", {y, b.Constant<int64_t>("i", {1}, {0})}, {{"axis", int64_t{1}}});
      }};
  for (const auto& other : others) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* y = Layer(b, Hidden(b));
      b.Output(b.Op("Tanh", {Position(b, y, 0)})).Output(other(b, y));
    });
    EXPECT_EQ(LinearRows(test), kOneRowButKeys);
    for (const int64_t length : {1, 4}) test.Dim("seq", length).ExpectSameResults(kTolerance);
  }
}

TEST(NeededRowsTest, RowsMayBeTwoOutputs) {
  OptimizerTester test([&](GraphBuilder& b) {
    Value* y = Layer(b, Hidden(b));
    Value* first = b.Constant<int64_t>("i", {1}, {0});
    b.Output(b.Op("Gather", {y, first}, {{"axis", int64_t{1}}})).Output(Sliced(b, y, 0, 1));
  });
  EXPECT_EQ(LinearRows(test), kOneRowButKeys);
  test.ExpectSameResults(kTolerance);
}

// The first row and the second one; the first row along another axis.
TEST(NeededRowsTest, OtherRowsAreNeededToo) {
  for (const auto& [position, axis] : {std::pair(1, 1), {0, 2}}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* y = Norm(b, Layer(b, Hidden(b)));
      b.Output(Position(b, y, 0)).Output(Position(b, y, position, axis));
    });
    EXPECT_EQ(test.Applied("needed_rows"), 0);
    test.ExpectSameResults(kTolerance);
  }
}

// A Slice of no rows is empty, where a Gather fails.
TEST(NeededRowsTest, ASliceOfNoRowsStaysEmpty) {
  OptimizerTester test([&](GraphBuilder& b) {
    Value* y = Product(b, Hidden(b), 1);
    b.Output(Sliced(b, y, 0, 1)).Output(Sliced(b, b.Op("Neg", {y}), 0, 1));
  });
  for (const int64_t length : {0, 3}) test.Dim("seq", length).ExpectSameResults(kTolerance);
}

// Bounds at the ends of 64 bits, some of which have no negation and some no successor.
TEST(NeededRowsTest, SlicesOfAllRowsAreNotFew) {
  OptimizerTester test([&](GraphBuilder& b) {
    Value* y = Product(b, b.Input("x", DataType::kFloat, {"batch", 9, kWidth}), 1);
    b.Output(Sliced(b, y, INT64_MIN, INT64_MAX)).Output(Sliced(b, y, INT64_MIN, -1));
    b.Output(Sliced(b, y, 0, INT64_MAX));
  });
  EXPECT_EQ(test.Applied("needed_rows"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, AMeanOverTheRowsNeedsThemAll) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* y = Norm(b, Layer(b, Hidden(b)));
    b.Output(Position(b, y, 0));
    b.Output(b.Op("ReduceMean", {y, b.Constant<int64_t>("axes", {1}, {1})}));
  });
  EXPECT_EQ(test.Applied("needed_rows"), 0);
  EXPECT_THAT(test.Misses("needed_rows"), Contains(HasSubstr("it is read elsewhere, too")));
  test.ExpectSameResults(kTolerance);
}

TEST(NeededRowsTest, HalfOfTheRowsAreNotFew) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 5, kWidth});
    b.Output(Sliced(b, Product(b, x, 1), 0, 3));
  });
  EXPECT_EQ(test.Applied("needed_rows"), 0);
}

TEST(NeededRowsTest, ASelectionOfChannelsSelectsNoRows) {
  const OptimizerTester test(
      [](GraphBuilder& b) { b.Output(Position(b, Product(b, Hidden(b), 1), 0, 2)); });
  EXPECT_EQ(test.Applied("needed_rows"), 0);
  test.ExpectSameResults(kTolerance);
}

// One row of the first half of a packed projection is needed, but all rows of the second half. Both
// Slices stay in place so that they become a Split. If one row of both halves is needed, so is one
// row of the projection.
TEST(NeededRowsTest, OneSliceOfManyStaysWithTheOthers) {
  for (const bool whole : {true, false}) {
    OptimizerTester test([=](GraphBuilder& b) {
      Value* y = b.Op("MatMul", {Hidden(b), Weight(b, 1, {kWidth, 2 * kWidth})});
      const auto half = [&](int64_t i) {
        return Norm(b, testing::Sliced(b, y, i * kWidth, (i + 1) * kWidth, 2));
      };
      Value* first = half(0);
      Value* second = half(1);
      if (whole) b.Output(second);
      b.Output(Position(b, whole ? first : b.Op("Mul", {first, second}), 0));
    });
    EXPECT_EQ(test.Count("Split"), 1);
    EXPECT_EQ(test.Count("Slice"), 0);
    const Node* gather = nullptr;
    for (const Node* node : test.graph().nodes()) {
      if (node->op_type() == "Gather") gather = node;
    }
    ASSERT_NE(gather, nullptr);
    EXPECT_EQ(gather->input(0)->is_input(), !whole);
    test.ExpectSameResults(kTolerance);
  }
}

TEST(NeededRowsTest, ASoftmaxOverTheRowsNeedsThemAll) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* y = b.Op("Softmax", {Product(b, Hidden(b), 1)}, {{"axis", int64_t{1}}});
    b.Output(Position(b, y, 0));
  });
  EXPECT_EQ(test.Applied("needed_rows"), 0);
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
