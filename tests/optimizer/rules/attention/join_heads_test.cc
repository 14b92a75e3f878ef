// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kHeads = 3;
constexpr int kSize = 4;
// The rounding of probabilities over few keys.
constexpr double kTolerance = 64 * kEpsilon;

// The offsets of an attention's heads in a row of `packed`.
struct Offsets {
  int64_t q;
  int64_t k;
  int64_t v;
};

Value* Attention(GraphBuilder& b, Value* packed, const Offsets& offsets, float scale = 0.5F) {
  const auto layout = [](int64_t offset) {
    return absl::StrCat("b s ", offset, "+(h:", kSize, ")");
  };
  return b.Op("attnrun::Attention", {packed, packed, packed},
              {{"q_layout", layout(offsets.q)},
               {"k_layout", layout(offsets.k)},
               {"v_layout", layout(offsets.v)},
               {"scale", scale}});
}

Value* Packed(GraphBuilder& b) {
  return b.Input("packed", DataType::kFloat, {"batch", "sequence", 3 * kHeads * kSize});
}

OptimizerTester Joined(const std::vector<Offsets>& heads, int64_t axis = -1) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* packed = Packed(b);
    std::vector<Value*> results;
    for (const Offsets& offsets : heads) results.push_back(Attention(b, packed, offsets));
    b.Output(b.Op("Concat", results, {{"axis", axis}}));
  });
}

void ExpectJoined(const std::vector<Offsets>& heads, const std::string& q, const std::string& k,
                  const std::string& v) {
  const OptimizerTester test = Joined(heads);
  ASSERT_EQ(test.Ops(), "attnrun.Attention");
  const Node& node = *test.graph().nodes()[0];
  EXPECT_EQ(std::get<std::string>(*node.attribute("q_layout")), q);
  EXPECT_EQ(std::get<std::string>(*node.attribute("k_layout")), k);
  EXPECT_EQ(std::get<std::string>(*node.attribute("v_layout")), v);
  test.ExpectSameResults(kTolerance);
}

void ExpectApart(const OptimizerTester& test, int attentions) {
  EXPECT_EQ(test.Count("attnrun.Attention"), attentions);
  EXPECT_EQ(test.Count("Concat"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(JoinHeadsTest, JoinsConsecutiveHeads) {
  ExpectJoined({{0, 12, 24}, {4, 16, 28}, {8, 20, 32}}, "b s (n:3 h:4)", "b s 12+(n:3 h:4)",
               "b s 24+(n:3 h:4)");
}

TEST(JoinHeadsTest, JoinsHeadsPackedOneByOne) {
  ExpectJoined({{0, 4, 8}, {12, 16, 20}, {24, 28, 32}}, "b s (n:3 _:3 h:4)", "b s 4+(n:3 _:3 h:4)",
               "b s 8+(n:3 _:3 h:4)");
}

TEST(JoinHeadsTest, JoinsHeadsThatShareKeys) {
  ExpectJoined({{0, 12, 16}, {4, 12, 16}, {8, 12, 16}}, "b s (n:3 h:4)", "b s 12+(h:4)",
               "b s 16+(h:4)");
}

TEST(JoinHeadsTest, AcceptsTheLastAxisByNumber) {
  EXPECT_EQ(Joined({{0, 12, 24}, {4, 16, 28}}, 2).Ops(), "attnrun.Attention");
}

TEST(JoinHeadsTest, JoinsHeadsWithSeparateProjections) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "sequence", 8});
    std::mt19937 generator(7);
    const auto project = [&] {
      return b.Op("MatMul", {x, b.Constant("w", RandomFloats({8, kSize}, generator))});
    };
    std::vector<Value*> heads;
    for (int i = 0; i < kHeads; ++i) {
      Value* k = b.Op("Transpose", {project()}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
      Value* scores = b.Op("MatMul", {project(), k});
      Value* weights = b.Op("Softmax", {scores}, {{"axis", int64_t{-1}}});
      heads.push_back(b.Op("MatMul", {weights, project()}));
    }
    b.Output(b.Op("Concat", heads, {{"axis", int64_t{-1}}}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention attnrun.Linear");
  // Scores are sums of products of sums of 8 products.
  test.ExpectSameResults(1024 * kEpsilon);
}

// Results [batch, sequence, 4] that are stacked along a new axis.
TEST(JoinHeadsTest, JoinsHeadsThatAreStacked) {
  for (const int64_t axis : {0, 1, 2, 3}) {
    SCOPED_TRACE(axis);
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* packed = Packed(b);
      std::vector<Value*> heads;
      for (const Offsets& offsets : {Offsets{0, 12, 24}, {4, 16, 28}, {8, 20, 32}}) {
        heads.push_back(b.Op("Unsqueeze", {Attention(b, packed, offsets), Vector(b, {axis})}));
      }
      b.Output(b.Op("Concat", heads, {{"axis", axis}}));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("Concat"), 0);
    test.ExpectSameResults(kTolerance);
  }
}

// Attentions of two heads each, of which the second pair may share its keys. Both may have a bias,
// of one head or of two.
OptimizerTester Pairs(bool same_keys, const std::vector<int64_t>& order, int64_t axis,
                      int64_t bias_heads = 0) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* packed = b.Input("packed", DataType::kFloat, {"batch", "sequence", 48});
    std::vector<Value*> operands(3, packed);
    if (bias_heads > 0) {
      operands.push_back(
          b.Input("bias", DataType::kFloat, {1, bias_heads, "sequence", "sequence"}));
    }
    std::vector<Value*> pairs;
    for (const int64_t at : {0, 8}) {
      const auto layout = [](int64_t offset) {
        return absl::StrCat("b s ", offset, "+(n:2 h:", kSize, ")");
      };
      Value* y = b.Op("attnrun::Attention", operands,
                      {{"q_layout", layout(at)},
                       {"k_layout", layout(16 + (same_keys ? 0 : at))},
                       {"v_layout", layout(32 + at)}});
      pairs.push_back(Transposed(b, Shaped(b, y, {0, 0, 2, kSize}), order));
    }
    b.Output(b.Op("Concat", pairs, {{"axis", axis}}));
  });
}

TEST(JoinHeadsTest, JoinsSeveralHeadsEach) {
  for (const std::vector<int64_t>& order :
       {std::vector<int64_t>{0, 1, 2, 3}, {0, 2, 1, 3}, {2, 0, 1, 3}, {1, 3, 0, 2}}) {
    const int64_t heads = absl::c_find(order, 2) - order.begin();
    const OptimizerTester test = Pairs(false, order, heads);
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("Concat"), 0);
    test.ExpectSameResults(kTolerance);
  }
}

// The bias of two heads is not that of four.
TEST(JoinHeadsTest, PairsThatShareABiasOfEachHeadStay) {
  EXPECT_EQ(Pairs(false, {0, 2, 1, 3}, 1, 1).Count("attnrun.Attention"), 1);
  const OptimizerTester test = Pairs(false, {0, 2, 1, 3}, 1, 2);
  ExpectApart(test, 2);
  EXPECT_THAT(test.Misses("attention_heads"),
              ElementsAre(HasSubstr("masks each of its heads in its own way")));
}

TEST(JoinHeadsTest, PairsThatShareKeysOrLieAlongOtherAxesStay) {
  ExpectApart(Pairs(true, {0, 2, 1, 3}, 1), 2);
  for (const int64_t axis : {0, 2, 3}) ExpectApart(Pairs(false, {0, 2, 1, 3}, axis), 2);
}

TEST(JoinHeadsTest, HeadsAtUnequalDistancesStay) {
  const OptimizerTester test = Joined({{0, 12, 24}, {4, 16, 28}, {12, 20, 32}});
  ExpectApart(test, 3);
  EXPECT_THAT(test.Misses("attention_heads"), ElementsAre(HasSubstr("heads of Q")));
}

TEST(JoinHeadsTest, HeadsInOtherOrdersStay) {
  const OptimizerTester test = Joined({{0, 12, 28}, {4, 16, 24}});
  ExpectApart(test, 2);
  EXPECT_THAT(test.Misses("attention_heads"), ElementsAre(HasSubstr("heads of V")));
}

TEST(JoinHeadsTest, HeadsThatShareAQueryStay) {
  ExpectApart(Joined({{0, 12, 24}, {0, 16, 28}}), 2);
}

TEST(JoinHeadsTest, ConcatenationAlongPositionsStays) {
  ExpectApart(Joined({{0, 12, 24}, {4, 16, 28}}, 1), 2);
}

TEST(JoinHeadsTest, HeadsWithOtherAttributesOrReadersStay) {
  OptimizerTester scales([](GraphBuilder& b) {
    Value* packed = Packed(b);
    b.Output(b.Op("Concat",
                  {Attention(b, packed, {0, 12, 24}), Attention(b, packed, {4, 16, 28}, 0.25F)},
                  {{"axis", int64_t{-1}}}));
  });
  ExpectApart(scales, 2);
  EXPECT_THAT(scales.Misses("attention_heads"), ElementsAre(HasSubstr("other inputs or attr")));
  OptimizerTester reader([](GraphBuilder& b) {
    Value* packed = Packed(b);
    Value* first = Attention(b, packed, {0, 12, 24});
    b.Output(first);
    b.Output(b.Op("Concat", {first, Attention(b, packed, {4, 16, 28})}, {{"axis", int64_t{-1}}}));
  });
  ExpectApart(reader, 2);
}

}  // namespace
}  // namespace attnrun::testing
