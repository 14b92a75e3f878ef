// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Sums of at most 20 elements.
constexpr double kTolerance = 24 * kEpsilon;

Value* Input(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", "seq", 8}); }

TEST(ReducedViewsTest, AMeanOverPositionsHasOneForm) {
  // AdaptiveAvgPool1d as the two exporters write it.
  const OptimizerTester pooled([](GraphBuilder& b) {
    b.Output(b.Op("Flatten", {b.Op("GlobalAveragePool", {Transposed(b, Input(b), {0, 2, 1})})}));
  });
  const OptimizerTester reduced([](GraphBuilder& b) {
    Value* x = b.Op("Unsqueeze", {Transposed(b, Input(b), {0, 2, 1}), Vector(b, {-2})});
    x = b.Op("ReduceMean", {x, Vector(b, {-1, -2})}, {{"keepdims", int64_t{1}}});
    b.Output(b.Op("Squeeze", {x, Vector(b, {2, 3})}));
  });
  EXPECT_EQ(pooled.Ops(), "ReduceMean");
  EXPECT_EQ(reduced.Ops(), "ReduceMean");
  pooled.ExpectSameResults(kTolerance);
  reduced.ExpectSameResults(kTolerance);
}

TEST(ReducedViewsTest, AcceptsOtherReductionsAndSeveralAxes) {
  for (const char* op : {"ReduceSum", "ReduceMax", "ReduceMin"}) {
    const OptimizerTester test([op](GraphBuilder& b) {
      b.Output(b.Op(op, {Transposed(b, Input(b), {2, 0, 1}), Vector(b, {0, 2})},
                    {{"keepdims", int64_t{0}}}));
    });
    EXPECT_EQ(test.Ops(), op);
    test.ExpectSameResults(kTolerance);
  }
}

TEST(ReducedViewsTest, KeptAxesStayInTheirOrder) {
  const OptimizerTester test([](GraphBuilder& b) {
    b.Output(b.Op("ReduceMean", {Transposed(b, Input(b), {2, 1, 0}), Vector(b, {1})}));
  });
  EXPECT_EQ(test.Ops(), "ReduceMean Transpose");
  test.ExpectSameResults(kTolerance);
}

TEST(ReducedViewsTest, ASliceOfTheInputStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = Sliced(b, Input(b), 1, 4, 2);
    b.Output(b.Op("ReduceMean", {Transposed(b, x, {0, 2, 1}), Vector(b, {2})}));
  });
  EXPECT_EQ(test.Count("Slice"), 1);
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
