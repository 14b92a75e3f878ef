#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

constexpr double kTolerance = 4 * kEpsilon;

TEST(BroadcastsTest, AnExpandToTheOtherOperandsExtents) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq"});
    Value* y = b.Input("y", DataType::kFloat, {"batch", 1});
    b.Output(b.Op("Relu", {b.Op("Sub", {x, b.Op("Expand", {y, b.Op("Shape", {x})})})}));
  });
  EXPECT_EQ(test.Ops(), "Relu Sub");
  for (const int64_t seq : {1, 3}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
}

TEST(BroadcastsTest, LeadingAxesOfOne) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 4});
    Value* y = b.Input("y", DataType::kFloat, {"seq", 4});
    Value* axes = b.Constant<int64_t>("axes", {1}, {0});
    b.Output(b.Op("Add", {x, b.Op("Unsqueeze", {y, axes})}));
  });
  EXPECT_EQ(test.Ops(), "Add");
  test.ExpectSameResults(kTolerance);
}

// A residual whose only sample lost its axis on the way, as in graphs that were simplified for it.
TEST(BroadcastsTest, LeadingAxesOfOneThatAreTakenAway) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {1, 5, 4});
    Value* y = b.Input("y", DataType::kFloat, {1, 5, 4});
    Value* rows = b.Op("Reshape", {b.Op("Relu", {y}), b.Constant<int64_t>("rows", {2}, {5, 4})});
    b.Output(b.Op("Add", {rows, x}));
  });
  EXPECT_EQ(test.Ops(), "Add Relu");
  test.ExpectSameResults(kTolerance);
}

TEST(BroadcastsTest, NotLeadingAxesThatTheResultLacks) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {5, 4});
    Value* y = b.Input("y", DataType::kFloat, {1, 5, 4});
    Value* rows = b.Op("Reshape", {b.Op("Relu", {y}), b.Constant<int64_t>("rows", {2}, {5, 4})});
    b.Output(b.Op("Add", {rows, x}));
  });
  EXPECT_EQ(test.Count("Reshape"), 1);
  test.ExpectSameResults(kTolerance);
}

TEST(BroadcastsTest, OneNumberEverywhereIsThatNumber) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq"});
    Tensor three = *Tensor::Of<float>({1}, {3});
    Value* threes = b.Op("ConstantOfShape", {b.Op("Shape", {x})}, {{"value", three}});
    b.Output(b.Op("Min", {x, threes}));
  });
  EXPECT_EQ(test.Ops(), "Min");
  test.ExpectSameResults(0);
}

TEST(BroadcastsTest, NotWhereTheResultWouldBeSmaller) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1});
    Value* y = b.Input("y", DataType::kFloat, {"batch", 1});
    Value* like = b.Input("like", DataType::kFloat, {"batch", "seq"});
    b.Output(b.Op("Add", {x, b.Op("Expand", {y, b.Op("Shape", {like})})}));
  });
  EXPECT_EQ(test.Count("Expand"), 1);
  test.ExpectSameResults(kTolerance);
}

// Which of two extents is 1 is not known before the run.
TEST(BroadcastsTest, NotWhereExtentsMayDiffer) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "other"});
    Value* y = b.Input("y", DataType::kFloat, {"batch", 1});
    Value* like = b.Input("like", DataType::kFloat, {"batch", "seq"});
    b.Output(b.Op("Add", {x, b.Op("Expand", {y, b.Op("Shape", {like})})}));
  });
  EXPECT_EQ(test.Count("Expand"), 1);
  test.Dim("other", 1).Dim("seq", 5).ExpectSameResults(kTolerance);
}

TEST(BroadcastsTest, NotWhatIsMovedAboutBesides) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {4, 4});
    Value* y = b.Input("y", DataType::kFloat, {4});
    Value* axes = b.Constant<int64_t>("axes", {1}, {1});
    b.Output(b.Op("Add", {x, b.Op("Unsqueeze", {y, axes})}));
  });
  EXPECT_EQ(test.Count("Unsqueeze") + test.Count("Reshape"), 1);
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
