// SPDX-License-Identifier: Apache-2.0
// The optimizer inside the bodies of If and Loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "execution/support.h"
#include "support/attention_graph.h"
#include "support/optimizer_tester.h"
#include "support/plan_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;

// Products over 8 channels, scores over 4, sums over at most 10 keys.
constexpr double kTolerance = 128 * kEpsilon;

std::map<std::string, int64_t> AllCounts(const OptimizerTester& test) {
  std::map<std::string, int64_t> counts;
  exec::CountOps(test.graph(), counts);
  return counts;
}

// The weights of the projections, which belong to the main graph.
struct Weights {
  explicit Weights(GraphBuilder& b) {
    std::mt19937 generator(7);
    for (Value*& weight : all) weight = b.Constant("weight", RandomFloats({8, 8}, generator, 0.5F));
  }
  std::array<Value*, 4> all = {};
};

// Attention of x [batch, seq, 8] with two heads, written out. The keys of `past` [batch, past, 8],
// if given, come first.
Value* Attention(GraphBuilder& b, Value* x, const std::array<Value*, 4>& weights,
                 Value* past = nullptr) {
  Value* q = b.Op("MatMul", {x, weights[0]});
  Value* k = b.Op("MatMul", {x, weights[1]});
  Value* v = b.Op("MatMul", {x, weights[2]});
  if (past != nullptr) k = b.Op("Concat", {past, k}, {{"axis", int64_t{1}}});
  if (past != nullptr) v = b.Op("Concat", {past, v}, {{"axis", int64_t{1}}});
  Value* keys = b.Op("Transpose", {Heads(b, k)}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  Value* p = b.Op("Softmax", {b.Op("MatMul", {Heads(b, q), keys})});
  Value* y = b.Op("MatMul", {p, Heads(b, v)});
  y = b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  y = b.Op("Reshape", {y, b.Constant<int64_t>("merged", {3}, {0, 0, 8})});
  return b.Op("MatMul", {y, weights[3]});
}

std::array<Value*, 4> Captured(GraphBuilder& b, const Weights& weights) {
  std::array<Value*, 4> captured = {};
  for (size_t i = 0; i < captured.size(); ++i) captured[i] = b.Capture(weights.all[i]);
  return captured;
}

// A decoder that was merged from one with and one without a cache.
void BuildMerged(GraphBuilder& b) {
  Value* condition = b.Input("use_cache", DataType::kBool, {});
  Value* x = b.Op("Identity", {b.Input("x", DataType::kFloat, {"batch", "seq", 8})});
  Value* past = b.Input("past", DataType::kFloat, {"batch", "past", 8});
  const Weights weights(b);
  const auto with = Subgraph([&](GraphBuilder& in) {
    in.Output(Attention(in, in.Capture(x), Captured(in, weights), in.Capture(past)));
  });
  const auto without = Subgraph(
      [&](GraphBuilder& in) { in.Output(Attention(in, in.Capture(x), Captured(in, weights))); });
  b.Output(b.Op("If", {condition}, {{"then_branch", with}, {"else_branch", without}}));
}

TEST(BodiesTest, BothBranchesAreFused) {
  OptimizerTester test(BuildMerged);
  auto counts = AllCounts(test);
  EXPECT_EQ(counts["attnrun.Attention"], 2);
  // One for Q, K and V and one after the attention, in each branch.
  EXPECT_EQ(counts["attnrun.Linear"], 4);
  EXPECT_EQ(counts["MatMul"] + counts["Softmax"] + counts["Reshape"] + counts["Transpose"], 0);
  for (const char* branch : {"If_0.then_branch", "If_0.else_branch"}) {
    EXPECT_THAT(test.report(),
                Contains(AllOf(Field(&Rewrite::pass, "attention"), Field(&Rewrite::applied, true),
                               Field(&Rewrite::body, branch))));
  }
  for (const int taken : {0, 1}) {
    test.Feed("use_cache", MakeBool({}, {taken})).Dim("past", 5).ExpectSameResults(kTolerance);
    test.Dim("seq", 1).ExpectSameResults(kTolerance);
  }
}

TEST(BodiesTest, BranchesShareTheBytesOfTheirWeights) {
  const OptimizerTester test(BuildMerged);
  // The main graph holds no weights any more, and the branches share the bytes of theirs.
  EXPECT_THAT(test.graph().nodes()[0]->op_type(), "If");
  std::map<const void*, int> holders;
  for (const char* name : {"then_branch", "else_branch"}) {
    const auto& branch =
        *std::get<std::shared_ptr<Graph>>(*test.graph().nodes()[0]->attribute(name));
    for (const Value* value : branch.values()) {
      if (value->is_constant() && value->constant()->rank() == 2) {
        ++holders[value->constant()->raw()];
      }
    }
  }
  EXPECT_EQ(holders.size(), 4);
  for (const auto& [data, count] : holders) EXPECT_EQ(count, 2);
  for (const Value* value : test.graph().values()) EXPECT_FALSE(value->is_constant());
}

TEST(BodiesTest, LoopBodiesKnowWhatStaysTheSameInEveryIteration) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* count = b.Input("count", DataType::kInt64, {});
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 8});
    const Weights weights(b);
    const auto body = Subgraph([&](GraphBuilder& in) {
      in.Input("iteration", DataType::kInt64, {});
      in.Output(in.Op("Identity", {in.Input("condition", DataType::kBool, {})}));
      in.Output(Attention(in, in.Input("x", DataType::kFloat), Captured(in, weights)));
    });
    b.Output(b.Op("Loop", {count, nullptr, x}, {{"body", body}}));
  });
  EXPECT_EQ(AllCounts(test)["attnrun.Attention"], 1);
  EXPECT_THAT(test.report(), Contains(AllOf(Field(&Rewrite::pass, "attention"),
                                            Field(&Rewrite::body, "Loop_0.body"))));
  // Each iteration multiplies the error of the previous one by sums of 8 products.
  for (const int64_t count : {0, 1, 3}) {
    const double growth = count == 3 ? 64 : 1;
    test.Feed("count", Make<int64_t>({}, {count})).ExpectSameResults(growth * kTolerance);
  }
}

TEST(BodiesTest, ValuesThatGrowInALoopAreNotConstant) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* count = b.Input("count", DataType::kInt64, {});
    Value* x = b.Input("x", DataType::kFloat, {"batch", 2, 8});
    const auto body = Subgraph([&](GraphBuilder& in) {
      in.Input("iteration", DataType::kInt64, {});
      in.Output(in.Op("Identity", {in.Input("condition", DataType::kBool, {})}));
      Value* grows = in.Input("x", DataType::kFloat);
      grows = in.Op("Concat", {grows, in.Capture(x)}, {{"axis", int64_t{1}}});
      Value* extent = in.Op("Cast", {in.Op("Shape", {grows})}, {{"to", int64_t{1}}});
      Value* sum = in.Op("ReduceSum", {extent}, {{"keepdims", int64_t{0}}});
      in.Output(in.Op("Mul", {grows, sum}));
    });
    Value* y = b.Op("Loop", {count, nullptr, x}, {{"body", body}});
    b.Output(y).Output(b.Op("Shape", {y}));
  });
  for (const int64_t count : {0, 1, 3}) {
    test.Feed("count", Make<int64_t>({}, {count})).ExpectSameResults(kTolerance);
  }
}

// A while loop has no count, so its node lacks the first input.
TEST(BodiesTest, ALoopWithoutACountMayBeViewed) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* go_on = b.Input("go_on", DataType::kBool, {});
    Value* x = b.Input("x", DataType::kFloat, {2, 8});
    const auto body = Subgraph([&](GraphBuilder& in) {
      in.Input("iteration", DataType::kInt64, {});
      Value* more = in.Input("condition", DataType::kBool, {});
      in.Output(in.Op("And", {more, in.Op("Not", {more})}));
      in.Output(in.Op("Neg", {in.Input("x", DataType::kFloat)}));
    });
    Value* y = b.Op("Loop", {nullptr, go_on, x}, {{"body", body}});
    Value* flat = b.Op("Reshape", {y, b.Constant<int64_t>("all", {1}, {-1})});
    b.Output(b.Op("Reshape", {flat, b.Constant<int64_t>("rows", {2}, {4, 4})}));
  });
  for (const bool go_on : {false, true}) {
    test.Feed("go_on", MakeBool({}, {static_cast<uint8_t>(go_on)})).ExpectSameResults(0);
  }
}

TEST(BodiesTest, ABranchThatEveryRunTakesIsInlined) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1, 8});
    // TorchScript writes this test to decide at run time whether the axis may be squeezed.
    Value* extent = b.Op("Gather", {b.Op("Shape", {x}), b.Constant<int64_t>("one", {}, {1})});
    Value* condition = b.Op("Equal", {extent, b.Constant<int64_t>("one", {}, {1})});
    const auto squeezed = Subgraph([&](GraphBuilder& in) {
      in.Output(in.Op("Squeeze", {in.Capture(x), in.Constant<int64_t>("axis", {1}, {1})}));
    });
    const auto kept =
        Subgraph([&](GraphBuilder& in) { in.Output(in.Op("Identity", {in.Capture(x)})); });
    b.Output(b.Op("Relu",
                  {b.Op("If", {condition}, {{"then_branch", squeezed}, {"else_branch", kept}})}));
  });
  EXPECT_EQ(test.Count("If"), 0);
  EXPECT_EQ(test.Applied("known_branches"), 1);
  test.ExpectSameResults(0);
}

TEST(BodiesTest, FactsCommonToBothBranchesHoldAfterwards) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* condition = b.Input("condition", DataType::kBool, {});
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 8});
    const auto branch = [&](const char* op) {
      return Subgraph([&](GraphBuilder& in) { in.Output(in.Op(op, {in.Capture(x)})); });
    };
    Value* y =
        b.Op("If", {condition}, {{"then_branch", branch("Relu")}, {"else_branch", branch("Neg")}});
    b.Output(Attention(b, y, Weights(b).all));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  for (const int taken : {0, 1}) {
    test.Feed("condition", MakeBool({}, {taken})).ExpectSameResults(kTolerance);
  }
}

TEST(BodiesTest, AnyNumberOfRewritesComputesTheSame) {
  const OptimizerTester whole(BuildMerged);
  int64_t applied = 0;
  for (const Rewrite& rewrite : whole.report()) applied += rewrite.applied ? 1 : 0;
  EXPECT_GT(applied, 20);
  for (int64_t count = 0; count <= applied; ++count) {
    SCOPED_TRACE(count);
    opt::OptimizerOptions options;
    options.max_rewrites = count;
    OptimizerTester test(BuildMerged, options);
    int64_t done = 0;
    for (const Rewrite& rewrite : test.report()) done += rewrite.applied ? 1 : 0;
    EXPECT_EQ(done, count);
    test.Feed("use_cache", MakeBool({}, {static_cast<int>(count % 2)}));
    test.Dim("past", 5).ExpectSameResults(kTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
