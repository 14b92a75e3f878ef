// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

// LightGlue attends from one image to the other and back with the same scores.
Value* BothWays(GraphBuilder& b, Value* scores) {
  Value* other = b.Op("Softmax", {Transposed(b, scores, {0, 1, 3, 2})});
  b.Output(b.Op("MatMul", {other, Heads(b, Input(b, "w"))}));
  return scores;
}

TEST(SharedScoresTest, EachAttentionComputesItsOwnScores) {
  const std::vector<Between> spellings = {
      BothWays,
      [](GraphBuilder& b, Value* s) { return BothWays(b, b.Op("Mul", {s, Number(b, 0.5F)})); },
      // Another mask and other values.
      [](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
        Value* other = b.Op("Softmax", {b.Op("Where", {mask, s, Number(b, -1e9F)})});
        b.Output(b.Op("MatMul", {other, Heads(b, Input(b, "w"))}));
        return s;
      },
      // Over the queries.
      [](GraphBuilder& b, Value* s) {
        Value* other = b.Op("Softmax", {s}, {{"axis", int64_t{2}}});
        b.Output(b.Op("MatMul", {Transposed(b, other, {0, 1, 3, 2}), Heads(b, Input(b, "w"))}));
        return s;
      },
  };
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithScores(spellings[i]);
    EXPECT_EQ(test.Count("attnrun.Attention"), 2);
    EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
    test.ExpectSameResults(kAttentionTolerance);
    test.Dim("batch", 1).Dim("seq", 70).ExpectSameResults(kAttentionTolerance);
  }
}

// One of three readers is not an attention, so fusing would save nothing.
TEST(SharedScoresTest, OtherReadersKeepTheScores) {
  const OptimizerTester test = WithScores([](GraphBuilder& b, Value* s) {
    b.Output(b.Op("ReduceMean", {s}));
    return BothWays(b, s);
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_EQ(test.Count("MatMul"), 3);
  for (const std::string& why : test.Misses("attention")) {
    EXPECT_THAT(why, HasSubstr("has another consumer"));
  }
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(SharedScoresTest, FewScoresAreNotComputedTwice) {
  const OptimizerTester test([](GraphBuilder& b) {
    const auto input = [&](const char* name) {
      return b.Input(name, DataType::kFloat, {"batch", 2, 9, 4});
    };
    Value* scores = b.Op("MatMul", {input("q"), Transposed(b, input("k"), {0, 1, 3, 2})});
    b.Output(b.Op("MatMul", {b.Op("Softmax", {scores}), input("v")}));
    b.Output(b.Op("MatMul", {b.Op("Softmax", {Transposed(b, scores, {0, 1, 3, 2})}), input("w")}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_EQ(test.Count("MatMul"), 3);
  test.ExpectSameResults(kAttentionTolerance);
}

}  // namespace
}  // namespace attnrun::testing
