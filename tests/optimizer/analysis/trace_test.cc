// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// The run refuses such a Transpose; until then no pass may treat it as a permutation.
TEST(TraceTest, AnInvalidPermutationIsNotFollowed) {
  for (const std::vector<int64_t>& perm : {std::vector<int64_t>{0, 70000}, {1, 1}, {-1, 0}, {0}}) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
      Value* once = b.Op("Transpose", {x}, {{"perm", perm}});
      b.Output(b.Op("Transpose", {once}, {{"perm", std::vector<int64_t>{1, 0}}}));
    });
    EXPECT_EQ(test.Count("Transpose"), 2) << perm.back();
  }
}

// Keys of two heads, gathered by a list; each head of keys serves two heads of queries.
OptimizerTester AttentionOfSelectedHeads(const std::vector<int64_t>& heads) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 4, "seq", 8});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, "seq", 8});
    Value* list = b.Constant("heads", Make<int64_t>({std::ssize(heads)}, heads));
    Value* selected = b.Op("Gather", {k, list}, {{"axis", int64_t{1}}});
    Value* turned = b.Op("Transpose", {selected}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    Value* scores = b.Op("MatMul", {q, turned});
    Value* weights = b.Op("Softmax", {scores}, {{"axis", int64_t{-1}}});
    b.Output(b.Op("MatMul", {weights, selected}));
  });
}

TEST(TraceTest, AListThatRepeatsHeadsMakesGroups) {
  OptimizerTester test = AttentionOfSelectedHeads({0, 0, 1, 1});
  EXPECT_EQ(test.Count("Gather"), 0);
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  // Scores of 8 small terms, whose errors become errors of the softmax, and sums over 3 keys.
  test.Feed("q", Make<float>({3, 4, 3, 8}, std::vector<float>(288, 0.125F)));
  test.ExpectSameResults(64 * kEpsilon);
  // In this list the heads of a group do not share one head of keys.
  EXPECT_GT(AttentionOfSelectedHeads({0, 1, 1, 0}).Count("Gather"), 0);
}

// x[-2] and x[-1] of two rows, with indices in a list, as an exporter writes them.
TEST(TraceTest, ANegativeIndexCountsFromTheEnd) {
  const auto rows = [](int64_t first) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {2, "seq"});
      const auto row = [&](int64_t index) {
        return b.Op("GatherND", {x, b.Constant<int64_t>("list", {1, 1}, {index})});
      };
      b.Output(b.Op("Neg", {b.Op("Concat", {row(first), row(-1)}, {{"axis", int64_t{0}}})}));
    });
  };
  EXPECT_EQ(rows(-2).Ops(), "Neg");
  rows(-2).ExpectSameResults(0);
  // The index is out of range, which the run refuses.
  EXPECT_EQ(rows(-3).Ops(), "Concat Gather*2 Neg");
}

// x[:, -(n + more):], where n is the extent of `of`.
OptimizerTester LastOf(const std::string& of, int64_t more) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq"});
    Value* other = b.Input("other", DataType::kFloat, {"batch", "past"});
    Value* extent = b.Op("Shape", {of == "seq" ? x : other}, {{"start", int64_t{1}}});
    Value* start = b.Op("Sub", {b.Op("Neg", {extent}), Vector(b, {more})});
    b.Output(b.Op("Neg", {b.Op("Slice", {x, start, Vector(b, {INT64_MAX}), Vector(b, {1})})}));
    b.Output(b.Op("Neg", {other}));
  });
}

TEST(ViewsTest, ASliceOfAllPositionsFromTheEndIsRemoved) {
  for (const int64_t more : {0, 1}) {
    OptimizerTester all = LastOf("seq", more);
    EXPECT_EQ(all.Ops(), "Neg*2");
    for (const int64_t seq : {0, 1, 4}) all.Dim("seq", seq).ExpectSameResults(0);
  }
  // All positions but the first, and as many positions as another input has.
  for (OptimizerTester& some : std::array{LastOf("seq", -1), LastOf("past", 0)}) {
    EXPECT_EQ(some.Count("Slice"), 1);
    for (const int64_t seq : {0, 1, 4}) some.Dim("seq", seq).ExpectSameResults(0);
  }
}

// Found by the fuzzer of rules: no run succeeds, but the graph is optimized before that is known.
TEST(ViewsTest, ASliceWithFewerStepsThanAxesStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {4, 6});
    Value* none = Vector(b, {0, 0});
    Value* all = Vector(b, {4, 6});
    b.Output(b.Op("Neg", {b.Op("Slice", {x, none, all, Vector(b, {0, 1}), Vector(b, {1})})}));
  });
  EXPECT_EQ(test.Count("Slice"), 1);
}

// x[..., -2:-1, :] as dynamo's exporter writes it: the axis is transposed to the front and back.
TEST(ViewsTest, OnePositionOfAnAxisIsGathered) {
  const auto picked = [](bool kept) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 6, 8});
      Value* list = b.Constant<int64_t>("list", {1, 1}, {-2});
      Value* one = b.Op("GatherND", {Transposed(b, x, {2, 0, 1, 3}), list});
      if (kept) return void(b.Output(b.Op("Neg", {Transposed(b, one, {1, 2, 0, 3})})));
      b.Output(b.Op("Neg", {b.Op("Squeeze", {one, b.Constant<int64_t>("axis", {1}, {0})})}));
    });
  };
  for (const bool kept : {true, false}) {
    EXPECT_EQ(picked(kept).Ops(), "Gather Neg");
    picked(kept).ExpectSameResults(0);
  }
}

// nn.MultiheadAttention with a length that was fixed at export: Gathers share a Squeeze and a
// Transpose of packed projections. Read before these, the parts are a Split.
OptimizerTester PackedPositions(const std::vector<int64_t>& indices) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {9, "batch", 12});
    Value* parts = b.Op("Reshape", {b.Op("Neg", {x}), Vector(b, {1, 9, -1, 3, 4})});
    Value* first = b.Op("Transpose", {parts}, {{"perm", std::vector<int64_t>{3, 1, 2, 0, 4}}});
    Value* squeezed = b.Op("Squeeze", {first, Vector(b, {3})});
    for (const int64_t at : indices) {
      Value* index = b.Constant<int64_t>("at" + std::to_string(at), {}, {at});
      b.Output(b.Op("Reshape", {b.Op("Gather", {squeezed, index}), Vector(b, {9, -1, 2})}));
    }
  });
}

TEST(ViewsTest, AGatherBehindASqueezeReadsBeforeIt) {
  OptimizerTester test = PackedPositions({0, 2});
  EXPECT_EQ(test.Ops(), "Neg Reshape*3 Split");
  test.ExpectSameResults(0);
}

}  // namespace
}  // namespace attnrun::testing
