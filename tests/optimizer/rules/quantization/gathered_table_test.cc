// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "core/elements.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// A table [12, 5] of bytes, whose rows are looked up once it is floats.
struct Table {
  int64_t axis = 0;
  bool per_row = false;
  bool zero_point = true;
  bool other_reader = false;
};

OptimizerTester Gathered(const Table& table) {
  return OptimizerTester([table](GraphBuilder& b) {
    std::mt19937 generator(3);
    std::vector<Value*> inputs = {
        b.Constant("table", RandomInts(DataType::kInt8, {12, 5}, generator, -128, 127))};
    const std::vector<int64_t> shape(table.per_row ? 1 : 0, 12);
    const size_t count = table.per_row ? 12 : 1;
    std::vector<float> scales(count, 0.3F);
    std::vector<int8_t> zeros(count, 7);
    for (size_t i = 1; i < count; ++i) {
      scales[i] = 2 * scales[i - 1];
      zeros[i] = static_cast<int8_t>(zeros[i - 1] - 1);
    }
    inputs.push_back(b.Constant("scale", Make<float>(shape, scales)));
    if (table.zero_point) inputs.push_back(b.Constant("zero", Make<int8_t>(shape, zeros)));
    Value* floats = b.Op("DequantizeLinear", inputs, {{"axis", int64_t{0}}});
    Value* ids = b.Constant("ids", Make<int64_t>({2, 2}, {0, 4, 3, -1}));
    Value* which = b.Op("Add", {ids, b.Input("more", DataType::kInt64, {1})});
    b.Output(b.Op("Gather", {floats, which}, {{"axis", table.axis}}));
    if (table.other_reader) b.Output(b.Op("Neg", {floats}));
  });
}

TEST(GatheredTableTest, RowsAreConvertedAfterTheyAreLookedUp) {
  for (const int64_t axis : {0, 1, -2}) {
    for (const bool zero_point : {false, true}) {
      OptimizerTester test = Gathered({.axis = axis, .zero_point = zero_point});
      EXPECT_EQ(test.Ops(), "Add DequantizeLinear Gather");
      EXPECT_EQ(test.Applied("gathered_table"), 1);
      EXPECT_TRUE(test.graph().outputs()[0]->producer()->op_type() == "DequantizeLinear");
      test.Feed("more", Make<int64_t>({1}, {0})).ExpectSameResults(0);
    }
  }
}

TEST(GatheredTableTest, ScalesOfRowsAreLookedUpWithThem) {
  for (const bool zero_point : {false, true}) {
    OptimizerTester test = Gathered({.per_row = true, .zero_point = zero_point});
    EXPECT_EQ(test.Ops(), zero_point ? "Add Cast*2 Gather*3 Mul Sub Unsqueeze*2"
                                     : "Add Cast Gather*2 Mul Unsqueeze");
    test.Feed("more", Make<int64_t>({1}, {0})).ExpectSameResults(0);
  }
}

TEST(GatheredTableTest, TablesWithOtherReadersAndOtherScalesAreConvertedOnce) {
  OptimizerTester other_axis = Gathered({.axis = 1, .per_row = true});
  EXPECT_EQ(other_axis.Ops(), "Add Gather");
  other_axis.Feed("more", Make<int64_t>({1}, {0})).ExpectSameResults(0);
  // The other reader's values are constant.
  OptimizerTester shared = Gathered({.other_reader = true});
  EXPECT_EQ(shared.Count("DequantizeLinear"), 0);
  shared.Feed("more", Make<int64_t>({1}, {0})).ExpectSameResults(0);
}

TEST(GatheredTableTest, EmbeddingsThatAreQuantizedAgainStayIntegers) {
  OptimizerTester test([](GraphBuilder& b) {
    std::mt19937 generator(3);
    Value* table = b.Constant("table", RandomInts(DataType::kUint8, {12, 5}, generator, 0, 255));
    Value* scale = b.Constant("scale", Make<float>({}, {0.3F}));
    Value* zero = b.Constant("zero", Make<uint8_t>({}, {100}));
    Value* floats = b.Op("DequantizeLinear", {table, scale, zero});
    Value* rows = b.Op("Gather", {floats, b.Input("ids", DataType::kInt64, {1})});
    b.Output(b.Op("QuantizeLinear", {rows, scale, zero}));
  });
  EXPECT_EQ(test.Ops(), "Gather");
  test.Feed("ids", Make<int64_t>({1}, {11})).ExpectSameResults(0);
}

}  // namespace
}  // namespace attnrun::testing
