// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>

#include "support/attention_graph.h"
#include "support/graph_parts.h"

namespace attnrun::testing {
namespace {

// Eight channels of a packed tensor, from `start` on, as heads [batch, 2, seq, 4] in float.
Value* WidenedHeads(GraphBuilder& b, Value* packed, int64_t start) {
  Value* rows = Sliced(b, packed, start, start + 8, -1);
  return b.Op("Cast", {Heads(b, rows)}, {{"to", static_cast<int64_t>(DataType::kFloat)}});
}

// Attention in float on packed 16-bit Q, K and V; the packed tensor has `channels` channels.
OptimizerTester OnPacked(DataType type, int64_t channels) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* packed = b.Input("packed", type, {"batch", "seq", channels});
    Value* q = WidenedHeads(b, packed, 0);
    Value* k = b.Op("Transpose", {WidenedHeads(b, packed, 8)},
                    {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    Value* probabilities = b.Op("Softmax", {b.Op("MatMul", {q, k})}, {{"axis", int64_t{-1}}});
    Value* context = b.Op("MatMul", {probabilities, WidenedHeads(b, packed, 16)});
    context = b.Op("Transpose", {context}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    b.Output(Shaped(b, context, {0, 0, 8}));
  });
}

TEST(AttentionOperandsTest, OneCastServesAllSlices) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    OptimizerTester test = OnPacked(type, 24);
    EXPECT_EQ(test.Ops(), "Cast attnrun.Attention");
    for (const int64_t seq : {1, 3, 8}) test.Dim("seq", seq).ExpectSameResults(kAttentionTolerance);
  }
}

// Channels that nobody reads are not cast to float.
TEST(AttentionOperandsTest, SlicesOfALargerTensorAreCastSeparately) {
  OptimizerTester test = OnPacked(DataType::kFloat16, 40);
  EXPECT_EQ(test.Count("Cast"), 3);
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.ExpectSameResults(kAttentionTolerance);
}

// All heads and samples are repeated, but the operator must count them.
TEST(AttentionOperandsTest, NoAxisIsLost) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* shape = b.Op("Shape", {b.Input("like", DataType::kFloat, {"batch", 2, "seq", 4})});
    const auto repeated = [&](const char* name) {
      return b.Op("Expand", {b.Input(name, DataType::kFloat, {1, 1, "seq", 4}), shape});
    };
    b.Output(b.Op("attnrun::Attention", {repeated("q"), repeated("k"), repeated("v")}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.ExpectSameResults(kAttentionTolerance);
}

// As diffusers' attention in slices: samples and heads [2,4] are folded, and some of the eight are
// taken. Those of two samples have no layout in the packed tensor, where the channels of K follow
// those of Q.
TEST(AttentionOperandsTest, SlicesOfFoldedHeadsReadTheirOwnChannels) {
  for (const auto& [first, end] : {std::pair(0, 4), {2, 4}, {6, 8}, {3, 7}, {1, 5}, {3, 5}}) {
    OptimizerTester test([first = first, end = end](GraphBuilder& b) {
      Value* packed = b.Input("packed", DataType::kFloat, {2, "seq", 96});
      const auto heads = [&](int64_t start) {
        Value* rows = Shaped(b, Sliced(b, packed, start, start + 32, -1), {2, -1, 4, 8});
        Value* folded = Shaped(b, Transposed(b, rows, {0, 2, 1, 3}), {8, -1, 8});
        return Sliced(b, folded, first, end, 0);
      };
      Value* scores = b.Op("MatMul", {heads(0), Transposed(b, heads(32), {0, 2, 1})});
      Value* p = b.Op("Softmax", {scores}, {{"axis", int64_t{-1}}});
      b.Output(b.Op("MatMul", {p, heads(64)}));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1) << first;
    for (const int64_t seq : {1, 3, 8}) test.Dim("seq", seq).ExpectSameResults(kAttentionTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
