// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/any_type.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using Extents = std::vector<int64_t>;

// Sums of at most 20 elements.
constexpr double kTolerance = 24 * kEpsilon;

Value* Axes(GraphBuilder& b, const Extents& axes) { return b.Constant("axes", Ints(axes)); }

Value* Input(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", "seq", 8}); }

Value* Turned(GraphBuilder& b, Value* x, const Extents& order) {
  return b.Op("Transpose", {x}, {{"perm", order}});
}

TEST(ReducedViewsTest, AMeanOverPositionsHasOneForm) {
  // AdaptiveAvgPool1d as the two exporters write it.
  const OptimizerTester pooled([](GraphBuilder& b) {
    b.Output(b.Op("Flatten", {b.Op("GlobalAveragePool", {Turned(b, Input(b), {0, 2, 1})})}));
  });
  const OptimizerTester reduced([](GraphBuilder& b) {
    Value* x = b.Op("Unsqueeze", {Turned(b, Input(b), {0, 2, 1}), Axes(b, {-2})});
    x = b.Op("ReduceMean", {x, Axes(b, {-1, -2})}, {{"keepdims", int64_t{1}}});
    b.Output(b.Op("Squeeze", {x, Axes(b, {2, 3})}));
  });
  EXPECT_EQ(pooled.Ops(), "ReduceMean");
  EXPECT_EQ(reduced.Ops(), "ReduceMean");
  pooled.ExpectSameResults(kTolerance);
  reduced.ExpectSameResults(kTolerance);
}

TEST(ReducedViewsTest, AcceptsOtherReductionsAndSeveralAxes) {
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin"}) {
    const OptimizerTester test([op](GraphBuilder& b) {
      b.Output(
          b.Op(op, {Turned(b, Input(b), {2, 0, 1}), Axes(b, {0, 2})}, {{"keepdims", int64_t{0}}}));
    });
    EXPECT_EQ(test.Ops(), op);
    test.ExpectSameResults(kTolerance);
  }
}

TEST(ReducedViewsTest, KeptAxesStayInTheirOrder) {
  const OptimizerTester test([](GraphBuilder& b) {
    b.Output(b.Op("ReduceMean", {Turned(b, Input(b), {2, 1, 0}), Axes(b, {1})}));
  });
  EXPECT_EQ(test.Ops(), "ReduceMean Transpose");
  test.ExpectSameResults(kTolerance);
}

TEST(ReducedViewsTest, ASliceOfTheInputStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    const auto at = [&](int64_t i) { return Axes(b, {i}); };
    Value* x = b.Op("Slice", {Input(b), at(1), at(4), at(2)});
    b.Output(b.Op("ReduceMean", {Turned(b, x, {0, 2, 1}), Axes(b, {2})}));
  });
  EXPECT_EQ(test.Count("Slice"), 1);
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
