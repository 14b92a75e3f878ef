// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int64_t kWidth = 12;
constexpr int64_t kHeadSize = 4;
// 1 / sqrt(kWidth), so that products are as large as their inputs.
constexpr float kWeightScale = 0.29F;
// Sums of 12 products, rotated and normalized, and a Softmax over sums of 4 products of them.
constexpr double kTolerance = 256 * kEpsilon;

OptimizerTester Optimized(const std::function<void(GraphBuilder&)>& build) {
  return OptimizerTester(build, {}, 23);
}

Value* Hidden(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", "seq", kWidth}); }

Value* Product(GraphBuilder& b, Value* x, int64_t columns, int seed) {
  std::mt19937 generator(seed);
  return b.Op("MatMul",
              {x, b.Constant("w", RandomFloats({kWidth, columns}, generator, kWeightScale))});
}

// [B,S,N*H] to [B,S,N,H].
Value* Split(GraphBuilder& b, Value* x, int64_t heads) {
  return b.Op("Reshape", {x, b.Constant<int64_t>("s", {4}, {0, 0, heads, kHeadSize})});
}

// [B,S,N,H] to [B,N,S,H].
Value* HeadsFirst(GraphBuilder& b, Value* x) { return Transposed(b, x, {0, 2, 1, 3}); }

struct Angles {
  explicit Angles(GraphBuilder& b, const char* name = "angle")
      : cos(b.Input(std::string(name) + ".cos", DataType::kFloat, {1, "seq", kHeadSize / 2})),
        sin(b.Input(std::string(name) + ".sin", DataType::kFloat, {1, "seq", kHeadSize / 2})) {}
  Value* cos;
  Value* sin;
};

Value* Rotated(GraphBuilder& b, Value* x, const Angles& angles, AttributeMap attributes = {}) {
  return b.Op("RotaryEmbedding", {x, angles.cos, angles.sin}, std::move(attributes));
}

Value* Normed(GraphBuilder& b, Value* x, float first) {
  Value* scale = b.Constant<float>("scale", {kHeadSize}, {first, 2, 1, 3});
  return b.Op("RMSNormalization", {x, scale}, {{"axis", int64_t{-1}}});
}

// Q of two heads, K and V of one, as three projections of one input.
struct Projections {
  explicit Projections(GraphBuilder& b, Value* x)
      : q(Split(b, Product(b, x, 2 * kHeadSize, 1), 2)),
        k(Split(b, Product(b, x, kHeadSize, 2), 1)),
        v(HeadsFirst(b, Split(b, Product(b, x, kHeadSize, 3), 1))) {}
  Value* q;
  Value* k;
  Value* v;
};

TEST(PackedHeadsTest, QueriesAndKeysAreRotatedInTheirProjection) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    const Angles angles(b);
    const Projections p(b, Hidden(b));
    b.Output(b.Op("Attention", {Rotated(b, HeadsFirst(b, p.q), angles),
                                Rotated(b, HeadsFirst(b, p.k), angles), p.v}));
  });
  EXPECT_EQ(test.Ops(),
            "Reshape Transpose attnrun.Attention attnrun.Linear attnrun.RotaryEmbedding");
  for (const int64_t length : {1, 3, 6}) test.Dim("seq", length).ExpectSameResults(kTolerance);
}

TEST(PackedHeadsTest, PairsMayBeNeighborsOrPartOfTheHead) {
  for (const int64_t interleaved : {0, 1}) {
    OptimizerTester test = Optimized([&](GraphBuilder& b) {
      Value* cos = b.Input("cos", DataType::kFloat, {"batch", "seq", 1});
      Value* sin = b.Input("sin", DataType::kFloat, {"batch", "seq", 1});
      const Projections p(b, Hidden(b));
      const AttributeMap attributes = {{"interleaved", interleaved},
                                       {"rotary_embedding_dim", int64_t{2}}};
      Value* q = b.Op("RotaryEmbedding", {HeadsFirst(b, p.q), cos, sin}, attributes);
      Value* k = b.Op("RotaryEmbedding", {HeadsFirst(b, p.k), cos, sin}, attributes);
      b.Output(b.Op("Attention", {q, k, p.v}));
    });
    EXPECT_EQ(test.Count("attnrun.RotaryEmbedding"), 1);
    EXPECT_EQ(test.Count("RotaryEmbedding"), 0);
    test.Dim("seq", 5).ExpectSameResults(kTolerance);
  }
}

TEST(PackedHeadsTest, EachHeadMayPackItsQueryKeyAndValue) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    const Angles angles(b);
    Value* packed = Product(b, Hidden(b), 2 * 3 * kHeadSize, 1);
    packed = b.Op("Reshape", {packed, b.Constant<int64_t>("s", {4}, {0, 0, 2, 3 * kHeadSize})});
    packed = HeadsFirst(b, packed);
    const auto parts =
        b.Ops("Split", 3, {packed}, {{"axis", int64_t{3}}, {"num_outputs", int64_t{3}}});
    b.Output(
        b.Op("Attention", {Rotated(b, parts[0], angles), Rotated(b, parts[1], angles), parts[2]}));
  });
  EXPECT_EQ(test.Ops(),
            "Reshape Transpose attnrun.Attention attnrun.Linear attnrun.RotaryEmbedding");
  test.Dim("seq", 4).ExpectSameResults(kTolerance);
}

TEST(PackedHeadsTest, NormsAndRotationsOfHeadsArePacked) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    const Angles angles(b);
    const Projections p(b, Hidden(b));
    b.Output(b.Op("Attention", {Rotated(b, HeadsFirst(b, Normed(b, p.q, 1)), angles),
                                Rotated(b, HeadsFirst(b, Normed(b, p.k, 4)), angles), p.v}));
  });
  EXPECT_EQ(test.Ops(),
            "Reshape Transpose attnrun.Attention attnrun.HeadRmsNormalization attnrun.Linear "
            "attnrun.RotaryEmbedding");
  test.Dim("seq", 4).ExpectSameResults(kTolerance);
}

// As keys and values that share a projection, and have norms of their own.
TEST(PackedHeadsTest, TwoNormsOfTheSameHeadsStay) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    Value* x = Hidden(b);
    Value* q = HeadsFirst(b, Normed(b, Split(b, Product(b, x, 2 * kHeadSize, 1), 2), 5));
    Value* shared = Split(b, Product(b, x, 2 * kHeadSize, 2), 2);
    b.Output(b.Op("Attention",
                  {q, HeadsFirst(b, Normed(b, shared, 1)), HeadsFirst(b, Normed(b, shared, 4))}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.Dim("seq", 4).ExpectSameResults(kTolerance);
}

TEST(PackedHeadsTest, NormsMayFollowTheTranspose) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    const Projections p(b, Hidden(b));
    b.Output(b.Op("Attention",
                  {Normed(b, HeadsFirst(b, p.q), 1), Normed(b, HeadsFirst(b, p.k), 1), p.v}));
  });
  EXPECT_EQ(test.Count("attnrun.HeadRmsNormalization"), 1);
  test.Dim("seq", 4).ExpectSameResults(kTolerance);
}

TEST(PackedHeadsTest, ANormOfWholeRowsStays) {
  const OptimizerTester test = Optimized(
      [](GraphBuilder& b) { b.Output(Normed(b, Product(b, Hidden(b), kHeadSize, 1), 1)); });
  EXPECT_EQ(test.Ops(), "RMSNormalization attnrun.Linear");
}

TEST(PackedHeadsTest, ACacheReadsRotatedKeysAndPlainValues) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    const Angles angles(b);
    const Projections p(b, Hidden(b));
    Value* past_k = b.Input("past_k", DataType::kFloat, {"batch", 1, "past", kHeadSize});
    Value* past_v = b.Input("past_v", DataType::kFloat, {"batch", 1, "past", kHeadSize});
    Value* k =
        b.Op("Concat", {past_k, Rotated(b, HeadsFirst(b, p.k), angles)}, {{"axis", int64_t{2}}});
    Value* v = b.Op("Concat", {past_v, p.v}, {{"axis", int64_t{2}}});
    b.Output(b.Op("Attention", {Rotated(b, HeadsFirst(b, p.q), angles), k, v})).Output(k).Output(v);
  });
  EXPECT_EQ(test.Count("attnrun.RotaryEmbedding"), 1);
  EXPECT_EQ(test.Count("RotaryEmbedding"), 0);
  test.Dim("seq", 1).Dim("past", 4).ExpectSameResults(kTolerance);
}

TEST(PackedHeadsTest, OtherAnglesNeedAnotherRotation) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    const Angles angles(b);
    const Angles others(b, "other");
    const Projections p(b, Hidden(b));
    b.Output(b.Op("Attention", {Rotated(b, HeadsFirst(b, p.q), angles),
                                Rotated(b, HeadsFirst(b, p.k), others), p.v}));
  });
  EXPECT_EQ(test.Count("attnrun.RotaryEmbedding"), 2);
  test.Dim("seq", 4).ExpectSameResults(kTolerance);
}

// When the first rotation is packed, the value that the second one read disappears.
TEST(PackedHeadsTest, RotationsMayBeRepeated) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    const Angles angles(b);
    const Angles others(b, "other");
    const Projections p(b, Hidden(b));
    const auto twice = [&](Value* x) {
      return Rotated(b, Rotated(b, HeadsFirst(b, x), angles), others);
    };
    b.Output(b.Op("Attention", {twice(p.q), twice(p.k), p.v}));
  });
  EXPECT_EQ(test.Count("attnrun.RotaryEmbedding"), 2);
  EXPECT_EQ(test.Count("RotaryEmbedding"), 0);
  test.Dim("seq", 4).ExpectSameResults(2 * kTolerance);
}

TEST(PackedHeadsTest, AProjectionThatIsAGraphOutputIsNotOverwritten) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    const Angles angles(b);
    Value* product = Product(b, Hidden(b), 2 * kHeadSize, 1);
    b.Output(Rotated(b, HeadsFirst(b, Split(b, product, 2)), angles)).Output(product);
  });
  EXPECT_EQ(test.Count("attnrun.RotaryEmbedding"), 0);
  EXPECT_THAT(test.Misses("head_operators"), Contains(HasSubstr("a graph output")));
  test.ExpectSameResults(kTolerance);
}

TEST(PackedHeadsTest, QueriesWithUnrotatedReadersStay) {
  OptimizerTester test = Optimized([](GraphBuilder& b) {
    const Angles angles(b);
    Value* q = HeadsFirst(b, Split(b, Product(b, Hidden(b), 2 * kHeadSize, 1), 2));
    b.Output(Rotated(b, q, angles)).Output(b.Op("Relu", {q}));
  });
  EXPECT_EQ(test.Count("attnrun.RotaryEmbedding"), 0);
  EXPECT_THAT(test.Misses("head_operators"), Contains(HasSubstr("is also read by")));
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
