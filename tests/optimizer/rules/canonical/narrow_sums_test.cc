// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

Value* Cast(GraphBuilder& b, Value* x, DataType to) {
  return b.Op("Cast", {x}, {{"to", static_cast<int64_t>(to)}});
}
Value* Sum(GraphBuilder& b, Value* x) {
  return b.Op("CumSum", {x, b.Constant<int64_t>("axis", {}, {1})});
}

TEST(NarrowSumsTest, NarrowsSumsOfInt32InInt64) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kInt32, {"batch", "seq"});
    b.Output(b.Op("Neg", {Cast(b, Sum(b, Cast(b, x, DataType::kInt64)), DataType::kInt32)}));
  });
  EXPECT_EQ(test.Ops(), "CumSum Neg");
  // Both sums wrap modulo 2^32.
  const int32_t most = 2147483647;
  test.Feed("x", Make<int32_t>({3, 3}, {most, most, most, 1, 2, 3, -most, -most, -5}));
  test.ExpectSameResults(0);
}

TEST(NarrowSumsTest, LeavesWideSumsThatAreReadAndFloats) {
  OptimizerTester read([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kInt32, {"batch", "seq"});
    Value* sum = Sum(b, Cast(b, x, DataType::kInt64));
    b.Output(b.Op("Neg", {Cast(b, sum, DataType::kInt32)})).Output(sum);
  });
  EXPECT_EQ(read.Count("Cast"), 2);
  OptimizerTester floats([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kInt32, {"batch", "seq"});
    b.Output(b.Op("Neg", {Cast(b, Sum(b, Cast(b, x, DataType::kFloat)), DataType::kInt32)}));
  });
  EXPECT_EQ(floats.Count("Cast"), 2);
}

}  // namespace
}  // namespace attnrun::testing
