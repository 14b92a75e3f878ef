// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

Value* Counted(GraphBuilder& b, Value* mask) {
  Value* flat = b.Op("Reshape", {mask, b.Constant<int64_t>("all", {1}, {-1})});
  Value* ints = b.Op("Cast", {flat}, {{"to", static_cast<int64_t>(DataType::kInt64)}});
  return b.Op("ReduceSum", {ints});
}

Value* Filled(GraphBuilder& b, Value* x, Value* mask, Value* count, AttributeMap attributes = {}) {
  Value* places = b.Op("Transpose", {b.Op("NonZero", {mask})});
  Value* numbers = b.Op("Expand", {b.Constant<float>("c", {}, {-7}), count});
  return b.Op("ScatterND", {x, places, numbers}, std::move(attributes));
}

Value* Data(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"rows", 3}); }
Value* Mask(GraphBuilder& b) { return b.Input("mask", DataType::kBool, {"rows", 3}); }

TEST(MaskedFillTest, BecomesAWhere) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Data(b);
    Value* mask = Mask(b);
    b.Output(b.Op("Relu", {Filled(b, x, mask, Counted(b, mask))}));
  });
  EXPECT_EQ(test.Ops(), "Relu Where");
  for (const int64_t rows : {0, 1, 4}) test.Dim("rows", rows).ExpectSameResults(0);
}

TEST(MaskedFillTest, AcceptsAFilledTensor) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Data(b);
    Value* mask = Mask(b);
    Value* places = b.Op("Transpose", {b.Op("NonZero", {mask})});
    Value* numbers =
        b.Op("ConstantOfShape", {Counted(b, mask)}, {{"value", Make<float>({1}, {-7})}});
    b.Output(b.Op("Relu", {b.Op("Neg", {b.Op("ScatterND", {x, places, numbers})})}));
  });
  EXPECT_EQ(test.Ops(), "Neg Relu Where");
  test.Dim("rows", 4).ExpectSameResults(0);
}

TEST(MaskedFillTest, LeavesOtherCountsReductionsAndWholeRows) {
  OptimizerTester other([](GraphBuilder& b) {
    Value* mask = Mask(b);
    Value* counted = b.Input("counted", DataType::kBool, {"rows", 3});
    b.Output(b.Op("Relu", {Filled(b, Data(b), mask, Counted(b, counted))}));
  });
  EXPECT_EQ(other.Count("ScatterND"), 1);
  OptimizerTester added([](GraphBuilder& b) {
    Value* mask = Mask(b);
    b.Output(b.Op(
        "Relu", {Filled(b, Data(b), mask, Counted(b, mask), {{"reduction", std::string("add")}})}));
  });
  EXPECT_EQ(added.Count("ScatterND"), 1);
  // Masks whole rows.
  OptimizerTester rows([](GraphBuilder& b) {
    Value* mask = b.Input("mask", DataType::kBool, {"rows"});
    Value* count = b.Op("Concat", {Counted(b, mask), b.Constant<int64_t>("width", {1}, {3})},
                        {{"axis", int64_t{0}}});
    b.Output(b.Op("Relu", {Filled(b, Data(b), mask, count)}));
  });
  EXPECT_EQ(rows.Count("ScatterND"), 1);
}

}  // namespace
}  // namespace attnrun::testing
