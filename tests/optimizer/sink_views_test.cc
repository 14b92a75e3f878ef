#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Sums of at most 12 products.
constexpr double kTolerance = 16 * kEpsilon;

Value* Weight(GraphBuilder& b, std::vector<int64_t> shape) {
  std::mt19937 generator(7);
  return b.Constant("w", RandomFloats(std::move(shape), generator));
}

TEST(SinkViewsTest, RowsAreArrangedAfterTheProduct) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 8});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    b.Output(b.Op("MatMul", {x, Weight(b, {8, 4})}));
  });
  const Node* last = test.graph().outputs()[0]->producer();
  EXPECT_EQ(last->op_type(), "Transpose");
  test.ExpectSameResults(kTolerance);
}

TEST(SinkViewsTest, AnAxisOfOneThatTheProductWidensIsNotMoved) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1, 1});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    x = b.Op("MatMul", {x, Weight(b, {1, 11})});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    b.Output(b.Op("MatMul", {x, Weight(b, {11, 3})}));
  });
  test.ExpectSameResults(kTolerance);
}

TEST(SinkViewsTest, AConvolutionOfOneChannelAndOnePosition) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1, 1});
    x = b.Op("Conv", {x, Weight(b, {11, 1, 1})});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    b.Output(b.Op("MatMul", {x, Weight(b, {11, 1})}));
  });
  test.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
