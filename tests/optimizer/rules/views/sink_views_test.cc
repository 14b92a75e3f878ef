// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/any_type.h"
#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Sums of at most 12 products.
constexpr double kTolerance = 16 * kEpsilon;

Value* Weight(GraphBuilder& b, std::vector<int64_t> shape) {
  std::mt19937 generator(7);
  return b.Constant("w", RandomFloats(std::move(shape), generator));
}

TEST(SinkViewsTest, AViewMovesAfterTheProduct) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 8});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    b.Output(b.Op("MatMul", {x, Weight(b, {8, 4})}));
  });
  const Node* last = test.graph().outputs()[0]->producer();
  EXPECT_EQ(last->op_type(), "Transpose");
  test.ExpectSameResults(kTolerance);
}

TEST(SinkViewsTest, AnAxisOfOneThatTheProductWidensStays) {
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

TEST(SinkViewsTest, AConvolutionOfOneElementIsCorrect) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1, 1});
    x = b.Op("Conv", {x, Weight(b, {11, 1, 1})});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    b.Output(b.Op("MatMul", {x, Weight(b, {11, 1})}));
  });
  test.ExpectSameResults(kTolerance);
}

// OPT flattens the rows before its feed-forward layers. A sum of rows with other views or other
// readers stays.
OptimizerTester Flattened(int64_t columns, bool read_elsewhere) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Op("Exp", {b.Input("x", DataType::kFloat, {"batch", "seq", 8})});
    Value* y = b.Op("Exp", {b.Input("y", DataType::kFloat, {"batch", "seq", columns})});
    x = b.Op("Reshape", {x, Vector(b, {-1, 8})});
    if (read_elsewhere) b.Output(b.Op("ReduceSum", {x, Vector(b, {0})}));
    b.Output(b.Op("Reshape", {b.Op("Add", {x, b.Op("Reshape", {y, Vector(b, {-1, 8})})}),
                              Vector(b, {-1, 4, 2})}));
  });
}

TEST(SinkViewsTest, AViewMovesAfterASumOfEqualViews) {
  OptimizerTester test = Flattened(8, /*read_elsewhere=*/false);
  EXPECT_EQ(test.Count("Reshape"), 1);
  for (const int64_t seq : {0, 1, 5}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
}

TEST(SinkViewsTest, SumsOfOtherViewsOrWithOtherReadersStay) {
  for (const auto& [columns, elsewhere] : {std::pair(int64_t{4}, false), {8, true}}) {
    OptimizerTester test = Flattened(columns, elsewhere);
    EXPECT_EQ(test.Count("Reshape"), 3) << columns;
    if (columns == 8) test.ExpectSameResults(kTolerance);
  }
}

// fairseq's attention leaves its heads folded into the batch and continues with positions first.
OptimizerTester FoldedHeads(const std::vector<int64_t>& order) {
  return OptimizerTester([=](GraphBuilder& b) {
    const auto reshape = [&](Value* x, std::vector<int64_t> to) {
      return b.Op("Reshape", {x, b.Constant("n", Ints(std::move(to)))});
    };
    Value* x = b.Op("Exp", {b.Input("x", DataType::kFloat, {"batch", 5, 8})});
    x = Transposed(b, reshape(x, {-1, 5, 4, 2}), {0, 2, 1, 3});
    x = reshape(Transposed(b, reshape(x, {-1, 5, 2}), order), {-1, 8});
    x = b.Op("MatMul", {x, Weight(b, {8, 4})});
    b.Output(Transposed(b, reshape(x, {5, -1, 4}), {1, 0, 2}));
  });
}

TEST(SinkViewsTest, HeadsFoldedIntoTheBatchAreUnfolded) {
  OptimizerTester test = FoldedHeads({1, 0, 2});
  EXPECT_EQ(test.Ops(), "Exp attnrun.Linear");
  for (const int64_t batch : {1, 3}) test.Dim("batch", batch).ExpectSameResults(kTolerance);
}

TEST(SinkViewsTest, RowsThatWereMixedStayBeforeTheProduct) {
  OptimizerTester test = FoldedHeads({0, 1, 2});
  EXPECT_GT(test.Count("Transpose"), 0);
  for (const int64_t batch : {1, 3}) test.Dim("batch", batch).ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
