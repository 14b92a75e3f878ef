// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "core/elements.h"
#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AttentionFusionTest, SpellingsOfScaleBiasMaskAndCapBecomeOneOperator) {
  const std::vector<Between> spellings = {
      [](GraphBuilder&, Value* s) { return s; },
      [](GraphBuilder& b, Value* s) { return b.Op("Div", {s, Number(b, 2)}); },
      [](GraphBuilder& b, Value* s) {
        Value* bias = b.Input("bias", DataType::kFloat, {1, 2, "seq", "seq"});
        return b.Op("Add", {bias, b.Op("Mul", {Number(b, 0.5F), s})});
      },
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
        return b.Op("Where", {mask, s, Number(b, -1e9F)});
      },
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
        return b.Op("Where", {mask, Number(b, -3e38F), s});
      },
      [](GraphBuilder& b, Value* s) {
        Value* cap = Number(b, 3);
        return b.Op("Mul", {b.Op("Tanh", {b.Op("Div", {s, cap})}), cap});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithScores(spellings[i]);
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax") + test.Count("Transpose"), 0);
    test.ExpectSameResults(kAttentionTolerance);
    test.Dim("batch", 2).Dim("seq", 1).ExpectSameResults(kAttentionTolerance);
  }
}

// The exporter folds the mask value to this tensor if the numbers of samples and positions are
// fixed.
TEST(AttentionFusionTest, AMaskValueMayBeATensorOfOneNumber) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {2, 3, 8});
    Value* k = Heads(b, b.Input("k", DataType::kFloat, {2, 3, 8}), true);
    Value* mask = b.Input("mask", DataType::kBool, {2, 1, 1, 3});
    Value* closed = b.Constant(
        "closed",
        FromDoubles(DataType::kFloat, {2, 2, 3, 3}, std::vector<double>(36, -1e9)).value());
    Value* scores = b.Op("Where", {mask, b.Op("MatMul", {Heads(b, q), k}), closed});
    Value* v = Heads(b, b.Input("v", DataType::kFloat, {2, 3, 8}));
    b.Output(b.Op("MatMul", {b.Op("Softmax", {scores}), v}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.ExpectSameResults(kAttentionTolerance);
}

// Learned queries: for a fixed number of samples, for all samples per head, and the same for all
// heads.
TEST(AttentionFusionTest, QueriesMayBeConstant) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{2, 2, 3, 4}, {1, 2, 3, 4}, {2, 3, 4}, {3, 4}}) {
    SCOPED_TRACE(shape.size());
    OptimizerTester test([&](GraphBuilder& b) {
      std::vector<double> elements(NumElements(shape).value());
      for (size_t i = 0; i < elements.size(); ++i) elements[i] = std::sin(static_cast<double>(i));
      Value* q = b.Constant("q", FromDoubles(DataType::kFloat, shape, elements).value());
      Value* k = Heads(b, b.Input("k", DataType::kFloat, {2, "seq", 8}), true);
      Value* v = Heads(b, b.Input("v", DataType::kFloat, {2, "seq", 8}));
      b.Output(b.Op("MatMul", {b.Op("Softmax", {b.Op("MatMul", {q, k})}), v}));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    test.ExpectSameResults(kAttentionTolerance);
  }
}

TEST(AttentionFusionTest, NodesInTheWayAreReported) {
  const OptimizerTester between =
      WithScores([](GraphBuilder& b, Value* s) { return b.Op("Relu", {s}); });
  EXPECT_EQ(between.Count("attnrun.Attention"), 0);
  EXPECT_THAT(between.Misses("attention"), ElementsAre(HasSubstr("(Relu)")));
  const OptimizerTester read = WithScores([](GraphBuilder& b, Value* s) {
    b.Output(s);
    return b.Op("Div", {s, Number(b, 2)});
  });
  EXPECT_EQ(read.Count("attnrun.Attention"), 0);
  EXPECT_THAT(read.Misses("attention"), ElementsAre(HasSubstr("is a graph output")));
  read.ExpectSameResults(kAttentionTolerance);
}

// The report names the Relu, not the view before it.
TEST(AttentionFusionTest, NodesAfterTheSoftmaxAreReported) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* p = b.Op("Transpose", {b.Op("Softmax", {Scores(b)})},
                    {{"perm", std::vector<int64_t>{1, 0, 2, 3}}});
    Value* back =
        b.Op("Transpose", {b.Op("Relu", {p})}, {{"perm", std::vector<int64_t>{1, 0, 2, 3}}});
    b.Output(Finish(b, back));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_THAT(test.Misses("attention"), Contains(HasSubstr("(Relu)")));
}

TEST(AttentionFusionTest, ASoftmaxOverQueriesStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    b.Output(Finish(b, b.Op("Softmax", {Scores(b)}, {{"axis", int64_t{-2}}})));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_THAT(test.Misses("attention"), ElementsAre(HasSubstr("another axis")));
}

TEST(AttentionFusionTest, ProbabilitiesThatAreReadBecomeASecondOutput) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* probabilities = b.Op("Softmax", {Scores(b)});
    b.Output(Finish(b, probabilities)).Output(probabilities);
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
  test.ExpectSameResults(kAttentionTolerance);
}

// As in Nystromformer's inverse of its probabilities, which must be computed before the values.
TEST(AttentionFusionTest, ValuesComputedFromTheProbabilitiesStay) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* p = b.Op("Softmax", {Scores(b)});
    Value* v = b.Op("Div", {Heads(b, Input(b, "v")), b.Op("ReduceMax", {p})});
    b.Output(b.Op("MatMul", {p, v}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_THAT(test.Misses("attention"), Contains(HasSubstr("computed from the probabilities")));
  test.ExpectSameResults(4 * kAttentionTolerance);
}

TEST(AttentionFusionTest, ABiasMadeOfTheScoresStays) {
  OptimizerTester test = WithScores([](GraphBuilder& b, Value* scores) {
    return b.Op("Add", {b.Op("Mul", {scores, Number(b, 0.5F)}), scores});
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_THAT(test.Misses("attention"),
              Contains(HasSubstr("which would go away, is an operand, too")));
  test.ExpectSameResults(4 * kAttentionTolerance);
}

TEST(AttentionFusionTest, AClassifiersSoftmaxIsNotReported) {
  const OptimizerTester test([](GraphBuilder& b) { b.Output(b.Op("Softmax", {Input(b, "x")})); });
  EXPECT_EQ(test.Ops(), "Softmax");
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
}

// A view cannot change the number of keys if it keeps all other extents.
TEST(AttentionFusionTest, AViewMayGiveTheKeysAnotherName) {
  OptimizerTester test = WithScores([](GraphBuilder& b, Value* s) {
    Value* bias = b.Input("bias", DataType::kFloat, {"batch", 1, "seq", "source"});
    Value* extents = b.Op("Concat",
                          {b.Constant<int64_t>("first", {2}, {0, 2}),
                           b.Op("Shape", {bias}, {{"start", int64_t{2}}, {"end", int64_t{4}}})},
                          {{"axis", int64_t{0}}});
    s = b.Op("Add", {b.Op("Reshape", {s, extents}), bias});
    return Shaped(b, s, {0, 2, 0, -1});
  });
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.Dim("seq", 4).Dim("source", 4).ExpectSameResults(kAttentionTolerance);
}

// K Q^T with samples and heads on one axis, which is split before keys and queries are transposed.
TEST(AttentionFusionTest, ScoresMayBeSplitIntoHeadsAndTransposed) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* k = b.Input("k", DataType::kFloat, {6, 5, 4});
    Value* q = b.Input("q", DataType::kFloat, {6, 4, "queries"});
    Value* v = b.Input("v", DataType::kFloat, {3, 2, 5, 4});
    Value* scores = Shaped(b, b.Op("MatMul", {k, q}), {3, 2, 5, -1});
    scores = b.Op("Transpose", {scores}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    b.Output(b.Op("MatMul", {b.Op("Softmax", {scores}, {{"axis", int64_t{-1}}}), v}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  for (const int64_t queries : {1, 4, 7}) {
    test.Dim("queries", queries).ExpectSameResults(kAttentionTolerance);
  }
}

TEST(AttentionFusionTest, ScoresOfSlidingWindowsAreReported) {
  const OptimizerTester test = WithScores([](GraphBuilder& b, Value* s) {
    Value* more = b.Op("MatMul", {Heads(b, Input(b, "q2")), Heads(b, Input(b, "k2"), true)});
    return b.Op("Slice", {b.Op("Concat", {s, more}, {{"axis", int64_t{-2}}}),
                          b.Constant<int64_t>("from", {1}, {0}),
                          b.Op("Shape", {s}, {{"start", int64_t{2}}, {"end", int64_t{3}}}),
                          b.Constant<int64_t>("axes", {1}, {2})});
  });
  EXPECT_THAT(test.Misses("attention"),
              ElementsAre(HasSubstr("(Concat), which puts them together")));
  test.ExpectSameResults(kAttentionTolerance);
}

// Queries and keys are a 2 x 3 grid of positions, and biases for the rows and columns are added.
TEST(AttentionFusionTest, BiasesMayBePerRowAndColumnOfAGrid) {
  const auto input = [](GraphBuilder& b, const char* name) {
    return b.Input(name, DataType::kFloat, {"batch", 6, 8});
  };
  const auto relative = [](GraphBuilder& b, const char* name, int64_t extent,
                           std::initializer_list<int64_t> shape) {
    return Shaped(b, b.Input(name, DataType::kFloat, {"batch", 2, 6, extent}), shape);
  };
  const std::vector<Between> spellings = {
      // Samples and heads on one axis.
      [&](GraphBuilder& b, Value* s) {
        s = Shaped(b, s, {-1, 2, 3, 2, 3});
        s = b.Op("Add", {s, relative(b, "rows", 2, {-1, 2, 3, 2, 1})});
        s = b.Op("Add", {relative(b, "columns", 3, {-1, 2, 3, 1, 3}), s});
        return Shaped(b, s, {-1, 2, 6, 6});
      },
      // A scale in between, and a table that all samples and heads share.
      [&](GraphBuilder& b, Value* s) {
        s = Shaped(b, s, {0, 2, 2, 3, 2, 3});
        s = b.Op("Add", {s, relative(b, "rows", 2, {0, 0, 2, 3, 2, 1})});
        s = b.Op("Mul", {s, Number(b, 0.5F)});
        s = b.Op("Sub", {s, b.Constant<float>("table", {2, 3}, {1, -1, 0.5F, 2, 0.25F, -2})});
        return Shaped(b, s, {0, 2, 6, 6});
      },
      [&](GraphBuilder& b, Value* s) {
        s = Shaped(b, s, {-1, 6, 2, 3});
        s = b.Op("Where", {b.Input("open", DataType::kBool, {2, 3}), s, Number(b, -1e9F)});
        return Shaped(b, s, {-1, 2, 6, 6});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test([&](GraphBuilder& b) {
      Value* s = b.Op("MatMul", {Heads(b, input(b, "q")), Heads(b, input(b, "k"), true)});
      Value* p = b.Op("Softmax", {spellings[i](b, s)});
      b.Output(b.Op("MatMul", {p, Heads(b, input(b, "v"))}));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
    test.ExpectSameResults(kAttentionTolerance);
    test.Dim("batch", 1).ExpectSameResults(kAttentionTolerance);
  }
  // A Softmax over the columns of the grid alone is not one over the keys.
  const OptimizerTester columns([&](GraphBuilder& b) {
    Value* s = b.Op("MatMul", {Heads(b, input(b, "q")), Heads(b, input(b, "k"), true)});
    Value* p = b.Op("Softmax", {Shaped(b, s, {0, 2, 6, 2, 3})});
    b.Output(b.Op("MatMul", {Shaped(b, p, {0, 2, 6, 6}), Heads(b, input(b, "v"))}));
  });
  EXPECT_THAT(columns.Misses("attention"), ElementsAre(HasSubstr("more than one axis")));
  columns.ExpectSameResults(kAttentionTolerance);
}

// NaN comes not only from fully masked rows.
TEST(AttentionFusionTest, AGuardAgainstNaNHoldsForNaNQueries) {
  for (const bool read : {false, true}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* p = b.Op("Softmax", {Scores(b)});
      p = b.Op("Where", {b.Op("IsNaN", {p}), Number(b, 0), p});
      b.Output(Finish(b, p));
      if (read) b.Output(p);
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("IsNaN"), 0);
    std::vector<float> q(16, 1);
    q[0] = NAN;
    q[12] = INFINITY;
    test.Dim("batch", 1).Dim("seq", 2).Feed("q", Make<float>({1, 2, 8}, q));
    test.ExpectSameResults(kAttentionTolerance);
  }
}

// Inputs of unknown rank, as behind a Reshape that the optimizer cannot follow.
TEST(AttentionFusionTest, AxesThatAreNotKnownAreReported) {
  OptimizerTester test([](GraphBuilder& b) {
    const auto input = [&](const char* name) { return b.Input(name, DataType::kFloat); };
    Value* p = b.Op("Softmax", {b.Op("MatMul", {input("q"), input("k")})});
    b.Output(b.Op("MatMul", {p, input("v")}));
  });
  EXPECT_THAT(test.Misses("attention"), Contains(HasSubstr("number of axes")));
}

// As converters to half precision write it that keep the Softmax in float.
TEST(AttentionFusionTest, AGuardAgainstNaNMayStandBehindACast) {
  const auto cast = [](GraphBuilder& b, Value* x, DataType type) {
    return b.Op("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
  };
  OptimizerTester test([&](GraphBuilder& b) {
    Value* p = cast(b, b.Op("Softmax", {Scores(b)}), DataType::kDouble);
    Value* zero = cast(b, Number(b, 0), DataType::kDouble);
    p = b.Op("Where", {b.Op("IsNaN", {p}), zero, p});
    b.Output(Finish(b, cast(b, p, DataType::kFloat)));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("IsNaN"), 0);
  std::vector<float> q(16, 1);
  q[0] = NAN;
  test.Dim("batch", 1).Dim("seq", 2).Feed("q", Make<float>({1, 2, 8}, q));
  test.ExpectSameResults(kAttentionTolerance);
}

}  // namespace
}  // namespace attnrun::testing
