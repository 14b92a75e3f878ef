// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

using Order = std::vector<int64_t>;

// The queries of 2 x 2 heads [batch, 2, 2, seq, 4] times keys that the heads of a group share.
Value* Products(GraphBuilder& b) {
  Value* q = Shaped(b, b.Input("q", DataType::kFloat, {"batch", "seq", 16}), {0, 0, 2, 2, 4});
  Value* k = Shaped(b, b.Input("k", DataType::kFloat, {"batch", "seq", 8}), {0, 0, 2, 1, 4});
  return b.Op("MatMul", {Transposed(b, q, {0, 2, 3, 1, 4}), Transposed(b, k, {0, 2, 3, 4, 1})});
}

Value* ByValues(GraphBuilder& b, Value* probabilities) {
  Value* v = Shaped(b, b.Input("v", DataType::kFloat, {"batch", "seq", 8}), {0, 0, 2, 1, 4});
  Value* y = b.Op(
      "MatMul", {Transposed(b, probabilities, {0, 2, 1, 3, 4}), Transposed(b, v, {0, 2, 3, 1, 4})});
  return Shaped(b, Transposed(b, y, {0, 3, 1, 2, 4}), {0, 0, 16});
}

Value* Softmax(GraphBuilder& b, Value* x, int64_t axis = -1) {
  return b.Op("Softmax", {x}, {{"axis", axis}});
}

TEST(AttentionAxesTest, GroupsMayComeBeforeHeads) {
  const std::vector<Between> spellings = {
      [](GraphBuilder&, Value* s) { return s; },
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("mask", DataType::kFloat, {"seq", "seq"});
        return b.Op("Add", {b.Op("Mul", {s, Number(b, 0.5F)}), mask});
      },
      // A number for each head of each group, or for each group.
      [](GraphBuilder& b, Value* s) {
        return b.Op("Add", {s, b.Constant<float>("c", {2, 2, 1, 1}, {0, 1, 2, 3})});
      },
      [](GraphBuilder& b, Value* s) {
        Value* bias = b.Input("bias", DataType::kFloat, {"batch", 2, 1, "seq", "seq"});
        return b.Op("Add", {bias, s});
      },
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("open", DataType::kBool, {"batch", 1, 1, "seq", "seq"});
        return b.Op("Where", {mask, s, Number(b, -1e9F)});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test([&](GraphBuilder& b) {
      b.Output(
          ByValues(b, Softmax(b, spellings[i](b, Transposed(b, Products(b), {0, 2, 1, 3, 4})))));
    });
    ExpectOneAttention(std::move(test), 2 * kAttentionTolerance);
  }
}

// Heads "(g h)": the heads of a group are consecutive, each with its own keys.
TEST(AttentionAxesTest, GroupsMayBeTheOuterAxis) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = Shaped(b, b.Input("q", DataType::kFloat, {"batch", "seq", 24}), {0, 0, 3, 2, 4});
    Value* k = Shaped(b, b.Input("k", DataType::kFloat, {"batch", "seq", 8}), {0, 0, 1, 2, 4});
    Value* v = Shaped(b, b.Input("v", DataType::kFloat, {"batch", "seq", 8}), {0, 0, 1, 2, 4});
    Value* s =
        b.Op("MatMul", {Transposed(b, q, {0, 2, 3, 1, 4}), Transposed(b, k, {0, 2, 3, 4, 1})});
    Value* mask = b.Input("mask", DataType::kFloat, {"batch", 1, 1, 1, "seq"});
    Value* p = Softmax(b, b.Op("Add", {b.Op("Mul", {s, Number(b, 0.5F)}), mask}));
    Value* y = b.Op("MatMul", {p, Transposed(b, v, {0, 2, 3, 1, 4})});
    b.Output(Shaped(b, Transposed(b, y, {0, 3, 1, 2, 4}), {0, 0, 24}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(2 * kAttentionTolerance);
  test.Dim("batch", 2).Dim("seq", 1).ExpectSameResults(2 * kAttentionTolerance);
}

TEST(AttentionAxesTest, ScoresWithOtherReadersKeepTheirOrder) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* scores = Transposed(b, Products(b), {0, 2, 1, 3, 4});
    b.Output(scores);
    b.Output(ByValues(b, Softmax(b, scores)));
  });
  EXPECT_EQ(test.Count("Softmax"), 1);
  test.ExpectSameResults(2 * kAttentionTolerance);
}

// Scores as in einsum("bhqd,bhkd->bqkh") and similar, with the Softmax over the keys.
TEST(AttentionAxesTest, KeysMayBeAnyAxis) {
  struct Layout {
    Order order;
    int64_t keys;
  };
  for (const Layout& layout :
       {Layout{{0, 2, 3, 1}, 2}, Layout{{3, 0, 1, 2}, 0}, Layout{{0, 3, 1, 2}, -3}}) {
    for (const bool by_key : {false, true}) {
      SCOPED_TRACE(layout.keys);
      SCOPED_TRACE(by_key);
      OptimizerTester test([&](GraphBuilder& b) {
        Value* q = Heads(b, Input(b, "q"), by_key);
        Value* k = Heads(b, Input(b, "k"), !by_key);
        Order order = layout.order;
        Order back(4);
        for (int i = 0; i < 4; ++i) back[order[i]] = i;
        for (int64_t& from : order) from = by_key && from >= 2 ? 5 - from : from;
        Value* s = b.Op("MatMul", {by_key ? k : q, by_key ? q : k});
        s = Transposed(b, b.Op("Mul", {s, Number(b, 0.5F)}), order);
        s = b.Op("Add", {s, b.Constant<float>("c", {1}, {0.5F})});
        b.Output(Finish(b, Transposed(b, Softmax(b, s, layout.keys), back)));
      });
      ExpectOneAttention(std::move(test), 2 * kAttentionTolerance);
    }
  }
}

TEST(AttentionAxesTest, AMaskIsTransposedWithTheScores) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* s = Transposed(b, Scores(b), {0, 2, 3, 1});
    s = b.Op("Add", {s, b.Input("mask", DataType::kFloat, {"seq", 2})});
    b.Output(Finish(b, Transposed(b, Softmax(b, s, 2), {0, 3, 1, 2})));
  });
  ExpectOneAttention(std::move(test), 2 * kAttentionTolerance);
}

// As old transformers and speech models write it, to get a Softmax of two axes.
TEST(AttentionAxesTest, ScoresMayBeOneMatrix) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* s = b.Op("Mul", {Scores(b), Number(b, 0.5F)});
    Value* keys = b.Op("Shape", {s}, {{"start", int64_t{3}}});
    Value* rows = b.Constant<int64_t>("rows", {1}, {-1});
    Value* flat = b.Op("Reshape", {s, b.Op("Concat", {rows, keys}, {{"axis", int64_t{0}}})});
    b.Output(Finish(b, b.Op("Reshape", {Softmax(b, flat), b.Op("Shape", {s})})));
  });
  ExpectOneAttention(std::move(test), kAttentionTolerance);
}

TEST(AttentionAxesTest, RowsOfAnotherWidthStay) {
  for (const int64_t width : {8, 2}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", 4, 4});
      Value* flat = Softmax(b, Shaped(b, x, {-1, width}));
      b.Output(Shaped(b, flat, {-1, 4, 4}));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 0);
    test.ExpectSameResults(kAttentionTolerance);
  }
}

TEST(AttentionAxesTest, OtherAxesOfTheSoftmaxStay) {
  for (const int64_t axis : {1, 3}) {
    OptimizerTester test([&](GraphBuilder& b) {
      b.Output(ByValues(b, Softmax(b, Transposed(b, Products(b), {0, 2, 1, 3, 4}), axis)));
    });
    EXPECT_EQ(test.Count("Softmax"), 1);
    test.ExpectSameResults(2 * kAttentionTolerance);
  }
}

// Queries [batch, seq, 2, 4] times keys that both heads share.
Value* SharedScores(GraphBuilder& b) {
  Value* q = b.Input("q2", DataType::kFloat, {"batch", "seq", 2, 4});
  return b.Op("MatMul", {q, b.Input("k2", DataType::kFloat, {"batch", 1, 4, "seq"})});
}

TEST(AttentionAxesTest, HeadsMayComeAfterTheQueries) {
  const std::vector<Between> spellings = {
      [](GraphBuilder&, Value* s) { return s; },
      // A mask per position, a number per head, DeepSeek's second product.
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("mask", DataType::kFloat, {"seq", 1, "seq"});
        return b.Op("Add", {b.Op("Mul", {s, Number(b, 0.5F)}), mask});
      },
      [](GraphBuilder& b, Value* s) {
        return b.Op("Add", {s, b.Constant<float>("c", {2, 1}, {0.5F, 1})});
      },
      [](GraphBuilder& b, Value* s) {
        return b.Op("Mul", {b.Op("Add", {s, SharedScores(b)}), Number(b, 0.5F)});
      },
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("open", DataType::kBool, {"batch", "seq", 1, "seq"});
        return b.Op("Where", {mask, s, Number(b, -1e9F)});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test([&](GraphBuilder& b) {
      Value* p = b.Op("Softmax", {spellings[i](b, Transposed(b, Scores(b), {0, 2, 1, 3}))},
                      {{"axis", int64_t{-1}}});
      b.Output(Finish(b, Transposed(b, p, {0, 2, 1, 3})));
    });
    ExpectOneAttention(std::move(test), 2 * kAttentionTolerance);
  }
}

TEST(AttentionAxesTest, KeysAndValuesMayServeAllHeads) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* p = b.Op("Softmax", {SharedScores(b)}, {{"axis", int64_t{-1}}});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 1, "seq", 4});
    b.Output(Shaped(b, b.Op("MatMul", {p, v}), {0, 0, 8}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(kAttentionTolerance);
}

// Multi-query attention that folds the heads into the rows of Q, before the positions or behind.
TEST(AttentionAxesTest, RowsMayHoldHeadsAndQueries) {
  for (const bool heads_first : {true, false}) {
    SCOPED_TRACE(heads_first);
    OptimizerTester test([&](GraphBuilder& b) {
      Value* q = Shaped(b, Input(b, "q"), {0, 0, 2, 4});
      if (heads_first) q = Transposed(b, q, {0, 2, 1, 3});
      const std::vector<int64_t> rows = {0, -1, 4};
      Value* k = b.Input("k", DataType::kFloat, {"batch", 4, "keys"});
      Value* s = b.Op("MatMul", {Shaped(b, q, rows), k});
      s = b.Op("Reshape",
               {s, b.Op("Concat",
                        {b.Op("Shape", {q}, {{"start", int64_t{0}}, {"end", int64_t{3}}}),
                         b.Constant<int64_t>("rest", {1}, {-1})},
                        {{"axis", int64_t{0}}})});
      Value* mask = b.Input("mask", DataType::kFloat, {2, 1});
      if (heads_first) mask = Shaped(b, mask, {2, 1, 1});
      Value* p = b.Op("Softmax", {b.Op("Add", {s, mask})}, {{"axis", int64_t{-1}}});
      Value* v = b.Input("v", DataType::kFloat, {"batch", 1, "keys", 4});
      b.Output(b.Op("MatMul", {p, v}));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
    test.Dim("keys", 5).ExpectSameResults(kAttentionTolerance);
  }
}

// Keys times queries of grouped heads, as einsum("khdb,hgdqb->qhbkg") writes it: the heads come
// before the samples, and the columns hold queries and the heads of a group.
TEST(AttentionAxesTest, ColumnsMayHoldQueriesAndHeads) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = Shaped(b, b.Input("q", DataType::kFloat, {"batch", "seq", 16}), {0, 0, 2, 2, 4});
    Value* k = Shaped(b, b.Input("k", DataType::kFloat, {"batch", "keys", 8}), {0, 0, 2, 4});
    Value* v = Shaped(b, b.Input("v", DataType::kFloat, {"batch", "keys", 8}), {0, 0, 2, 4});
    q = Shaped(b, Transposed(b, q, {2, 0, 4, 1, 3}), {2, 0, 4, -1});
    Value* s = b.Op("MatMul", {Transposed(b, k, {2, 0, 1, 3}), q});
    Value* p = Softmax(b, Transposed(b, Shaped(b, s, {2, 0, 0, -1, 2}), {1, 0, 3, 4, 2}));
    v = Shaped(b, Transposed(b, v, {0, 2, 1, 3}), {0, 2, 1, -1, 4});
    b.Output(b.Op("MatMul", {p, v}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.Dim("keys", 5).ExpectSameResults(kAttentionTolerance);
}

// Heads and samples in one axis, the heads first, and a Softmax of a matrix with all rows: the
// numbers of both must be found in Q. The mask tells whether they were.
TEST(AttentionAxesTest, FoldedHeadsMayComeFirst) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* k = b.Input("k", DataType::kFloat, {"batch", "seq", 4});
    Value* shape = b.Op("Shape", {Input(b, "x")});
    const auto dim = [&](int64_t i) { return Sliced(b, shape, i, i + 1, 0); };
    const auto list = [&](const std::vector<Value*>& dims) {
      return b.Op("Concat", dims, {{"axis", int64_t{0}}});
    };
    Value* heads = Shaped(b, Input(b, "q"), {0, 0, 2, 4});
    Value* rows = list({Vector(b, {-1}), dim(1), Vector(b, {4})});
    Value* q = b.Op("Reshape", {Transposed(b, heads, {2, 0, 1, 3}), rows});
    Value* repeated = b.Op("Expand", {k, list({Vector(b, {2}), dim(0), dim(1), Vector(b, {4})})});
    Value* folded = b.Op("Reshape", {repeated, rows});
    Value* s = b.Op("MatMul", {q, Transposed(b, folded, {0, 2, 1})});
    s = b.Op("Reshape", {s, list({Vector(b, {2}), dim(0), dim(1), dim(1)})});
    Value* mask = b.Input("mask", DataType::kBool, {"batch", "seq"});
    mask = b.Op("Unsqueeze", {mask, Vector(b, {1})});
    s = b.Op("Where", {mask, s, Number(b, -1e9F)});
    s = b.Op("Reshape", {s, list({Vector(b, {-1}), dim(1)})});
    Value* p = b.Op("Reshape", {Softmax(b, s), list({Vector(b, {-1}), dim(1), dim(1)})});
    b.Output(b.Op("MatMul", {p, folded}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(2 * kAttentionTolerance);
}

// The probabilities weigh rows that all heads share, before each head's own projection.
TEST(AttentionAxesTest, ValuesMayServeAllHeadsWhileKeysDoNot) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* p = b.Op("Softmax", {Scores(b)}, {{"axis", int64_t{-1}}});
    b.Output(b.Op("MatMul", {p, b.Input("v", DataType::kFloat, {"batch", 1, "seq", 6})}));
  });
  ExpectOneAttention(std::move(test), 2 * kAttentionTolerance);
}

// Learned queries, one for each head, times the keys of all samples: the samples are a part of the
// columns, before the keys or behind.
TEST(AttentionAxesTest, ColumnsMayHoldSamplesAndKeys) {
  for (const bool keys_first : {false, true}) {
    for (const bool over_keys : {true, false}) {
      SCOPED_TRACE(keys_first);
      SCOPED_TRACE(over_keys);
      const OptimizerTester test([&](GraphBuilder& b) {
        Value* q = b.Input("q", DataType::kFloat, {2, 3, 4});
        Value* k = b.Input("k", DataType::kFloat, {5, 6, 8});
        k = Transposed(b, Shaped(b, k, {5, 6, 2, 4}),
                       keys_first ? Order{2, 3, 1, 0} : Order{2, 3, 0, 1});
        Value* s = b.Op("MatMul", {q, Shaped(b, k, {2, 4, 30})});
        s = Shaped(b, s, keys_first ? Order{2, 3, 6, 5} : Order{2, 3, 5, 6});
        s = Transposed(b, s, keys_first ? Order{3, 0, 1, 2} : Order{2, 0, 1, 3});
        Value* p = over_keys ? Softmax(b, s)
                             : Shaped(b, Softmax(b, Shaped(b, s, {5, 2, 18})), {5, 2, 3, 6});
        Value* v = Transposed(b, b.Input("v", DataType::kFloat, {5, 6, 2, 4}), {0, 2, 1, 3});
        b.Output(b.Op("MatMul", {p, v}));
      });
      EXPECT_EQ(test.Count("attnrun.Attention"), over_keys ? 1 : 0);
      EXPECT_EQ(test.Count("MatMul"), over_keys ? 0 : 2);
      test.ExpectSameResults(kAttentionTolerance);
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
