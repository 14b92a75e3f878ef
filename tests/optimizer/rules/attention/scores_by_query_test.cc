// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

// Queries [batch, seq, 2, 4] times keys that both heads share.
Value* SharedScores(GraphBuilder& b) {
  Value* q = b.Input("q2", DataType::kFloat, {"batch", "seq", 2, 4});
  return b.Op("MatMul", {q, b.Input("k2", DataType::kFloat, {"batch", 1, 4, "seq"})});
}

TEST(ScoresByQueryTest, HeadsMoveToTheFront) {
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

TEST(ScoresByQueryTest, KeysAndValuesMayServeAllHeads) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* p = b.Op("Softmax", {SharedScores(b)}, {{"axis", int64_t{-1}}});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 1, "seq", 4});
    b.Output(Shaped(b, b.Op("MatMul", {p, v}), {0, 0, 8}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(kAttentionTolerance);
}

}  // namespace
}  // namespace attnrun::testing
