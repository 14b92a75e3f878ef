// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Sums of two products of 4 terms each.
constexpr double kTolerance = 64 * kEpsilon;
constexpr int64_t kPositions = 6;

// Scores of x [batch * 2, seq, 4] with positions, by indices of 0 and 1.
struct Disentangled {
  GraphBuilder& b;
  Value* indices = b.Input("indices", DataType::kInt64, {1, "seq", "seq"});

  Value* Tokens(const std::string& name) {
    return b.Input(name, DataType::kFloat, {"heads", "seq", 4});
  }
  Value* Last(Value* value) {
    return b.Op("Transpose", {value}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  }
  Value* Positions() { return b.Input("positions", DataType::kFloat, {1, kPositions, 4}); }
  Value* Product(Value* x, Value* positions) { return b.Op("MatMul", {x, Last(positions)}); }
  Value* Pick(Value* product, Value* x) {
    Value* shape = b.Op("Shape", {x}, {{"end", int64_t{2}}});
    Value* count = b.Op("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
    Value* pairs = b.Op("Concat", {shape, count}, {{"axis", int64_t{0}}});
    return b.Op("GatherElements", {product, b.Op("Expand", {indices, pairs})},
                {{"axis", int64_t{-1}}});
  }
  Value* Divided(Value* value) {
    return b.Op("Div", {value, b.Constant<float>("root", {}, {3.5})});
  }
};

TEST(RelativeScoresFusionTest, FusesBothTermsOfDeberta) {
  OptimizerTester test([](GraphBuilder& b) {
    Disentangled d{b};
    Value* q = d.Tokens("q");
    Value* k = d.Tokens("k");
    Value* positions = d.Positions();
    Value* of_queries = d.Divided(d.Pick(d.Product(q, positions), q));
    Value* of_keys = d.Divided(d.Last(d.Pick(d.Product(k, positions), k)));
    b.Output(b.Op("Add", {of_queries, of_keys}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.RelativeScores");
  for (const int64_t seq : {0, 1, 5}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
}

TEST(RelativeScoresFusionTest, PositionsMayBeTiled) {
  OptimizerTester test([](GraphBuilder& b) {
    Disentangled d{b};
    Value* x = b.Input("x", DataType::kFloat, {"batch", 2, "seq", 4});
    Value* samples = b.Op("Shape", {x}, {{"end", int64_t{1}}});
    Value* merged = b.Constant<int64_t>("merged", {1}, {-1});
    Value* count = b.Op("Shape", {x}, {{"start", int64_t{2}}});
    Value* heads = b.Op("Reshape", {x, b.Op("Concat", {merged, count}, {{"axis", int64_t{0}}})});
    Value* ones = b.Constant<int64_t>("ones", {2}, {1, 1});
    Value* positions = b.Input("positions", DataType::kFloat, {2, kPositions, 4});
    Value* tiled =
        b.Op("Tile", {positions, b.Op("Concat", {samples, ones}, {{"axis", int64_t{0}}})});
    b.Output(d.Pick(d.Product(heads, tiled), heads));
  });
  EXPECT_EQ(test.Count("attnrun.RelativeScores"), 1);
  EXPECT_EQ(test.Count("Tile") + test.Count("MatMul") + test.Count("Transpose"), 0);
  test.ExpectSameResults(kTolerance);
}

TEST(RelativeScoresFusionTest, ProductsThatOthersReadStay) {
  OptimizerTester test([](GraphBuilder& b) {
    Disentangled d{b};
    Value* q = d.Tokens("q");
    Value* product = d.Product(q, d.Positions());
    b.Output(d.Pick(product, q)).Output(b.Op("Relu", {product}));
  });
  EXPECT_EQ(test.Count("attnrun.RelativeScores"), 0);
  EXPECT_EQ(test.Count("attnrun.TakeAlongAxis"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(RelativeScoresFusionTest, ScoresThatAreOutputsStay) {
  // These nodes would be fused into the scores, but the scores themselves are an output.
  for (const std::string behind : {"factor", "transpose", "sum"}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Disentangled d{b};
      Value* q = d.Tokens("q");
      Value* positions = d.Positions();
      Value* given = d.Pick(d.Product(q, positions), q);
      b.Output(given);
      if (behind == "factor") b.Output(d.Divided(given));
      if (behind == "transpose") b.Output(b.Op("Relu", {d.Last(given)}));
      if (behind == "sum") {
        Value* k = d.Tokens("k");
        b.Output(b.Op("Add", {given, d.Pick(d.Product(k, positions), k)}));
      }
    });
    EXPECT_EQ(test.Count("attnrun.RelativeScores"), behind == "sum" ? 2 : 1) << behind;
    test.ExpectSameResults(kTolerance);
  }
}

TEST(TakeAlongAxisTest, FewerIndicesThanRowsStay) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {4, 6});
    Value* indices = b.Input("i", DataType::kInt64, {1, 3});
    Value* shape = b.Constant<int64_t>("shape", {2}, {2, 3});
    b.Output(b.Op("GatherElements", {x, b.Op("Expand", {indices, shape})}, {{"axis", int64_t{1}}}));
  });
  EXPECT_EQ(test.Count("GatherElements"), 1);
  test.ExpectSameResults(0);
}

// Found by the fuzzer of rules.
TEST(TakeAlongAxisTest, AnAxisThatIsNoneStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {4, 6});
    Value* index = b.Input("i", DataType::kInt64, {4, 6});
    b.Output(b.Op("GatherElements", {x, index}, {{"axis", std::numeric_limits<int64_t>::max()}}));
  });
  EXPECT_EQ(test.Count("GatherElements"), 1);
}

// Found by the fuzzer of models: no run succeeds, but the graph is optimized before that is known.
TEST(TakeAlongAxisTest, AnIndexWithoutAxesStays) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {4, 6});
    Value* index = b.Input("i", DataType::kInt64, {});
    b.Output(b.Op("GatherElements", {x, index}, {{"axis", int64_t{1}}}));
  });
  EXPECT_EQ(test.Count("GatherElements"), 1);
}

}  // namespace
}  // namespace attnrun::testing
