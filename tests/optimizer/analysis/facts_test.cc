// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/facts.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "support/graph_builder.h"
#include "support/graph_parts.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

TEST(FactsTest, MinOfASumAndItsTermIsTheTerm) {
  GraphBuilder b;
  Value* past = b.Input("past", DataType::kFloat, {"past", 4});
  Value* now = b.Input("now", DataType::kFloat, {"now", 4});
  Value* all = b.Op("Concat", {past, now}, {{"axis", int64_t{0}}});
  const auto extent = [&](Value* value) {
    return b.Op("Shape", {value}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  };
  Value* least = b.Op("Min", {extent(all), extent(now)});
  Value* other = b.Op("Min", {extent(past), extent(now)});
  b.Output(least).Output(other);
  const std::unique_ptr<Graph> graph = b.Build().value();
  opt::Facts facts(*graph);
  EXPECT_EQ(facts.Of(least).contents, std::vector<SymInt>{SymInt::Symbol("now")});
  EXPECT_FALSE(facts.Of(other).contents->at(0).constant().has_value());
  EXPECT_NE(facts.Of(other).contents, facts.Of(least).contents);
}

TEST(FactsTest, BoundsOfAClipAreAttributesOrInputs) {
  for (const int opset : {6, 11}) {
    GraphBuilder b(opset);
    Value* x = b.Input("x", DataType::kFloat, {4});
    Value* y = opset < 11 ? b.Op("Clip", {x}, {{"max", 2.0F}})
                          : b.Op("Clip", {x, nullptr, b.Constant<float>("max", {}, {2})});
    b.Output(y);
    const std::unique_ptr<Graph> graph = b.Build().value();
    const auto bounds = opt::ClipBoundsOf(*y->producer());
    ASSERT_TRUE(bounds.has_value());
    EXPECT_FALSE(bounds->least.has_value());
    EXPECT_EQ(bounds->most, 2.0);
  }
}

// SEW halves its frames in three ways: by pooling, as count / 2, and by the formula for windows.
TEST(FactsTest, FormulasForTheNumberOfWindowsAgree) {
  using Ints = std::vector<int64_t>;
  GraphBuilder b;
  Value* samples = b.Input("samples", DataType::kFloat, {1, 1, "samples"});
  Value* kernel = b.Input("kernel", DataType::kFloat, {4, 1, 10});
  Value* frames = b.Op("Conv", {samples, kernel}, {{"strides", Ints{5}}});
  Value* halved = b.Op("AveragePool", {frames}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}});
  Value* count = b.Op("Shape", {frames}, {{"start", int64_t{2}}});
  Value* two = b.Constant<int64_t>("two", {1}, {2});
  Value* half = b.Op("Div", {count, two});
  Value* windows = b.Op(
      "Add", {b.Op("Div", {b.Op("Sub", {count, two}), two}), b.Constant<int64_t>("one", {1}, {1})});
  // It is unknown whether there are as many as nine.
  Value* fewer = b.Op("Sub", {count, b.Constant<int64_t>("nine", {1}, {9})});
  Value* other = b.Op("Div", {fewer, two});
  b.Output(halved).Output(half).Output(windows).Output(other);
  const std::unique_ptr<Graph> graph = b.Build().value();
  opt::Facts facts(*graph);
  const SymInt expected = facts.DimsOf(halved)->at(2);
  EXPECT_EQ(facts.Of(half).contents, std::vector<SymInt>{expected});
  EXPECT_EQ(facts.Of(windows).contents, std::vector<SymInt>{expected});
  EXPECT_EQ(facts.Of(other).contents->at(0).ToString(), "?div(-10+div(samples,5),2)");
}

// Up to `seq` rows are sliced from a table of `rows` positions. Adding the slice to x proves that
// there are at least `seq` of them, so min(rows, seq) is seq.
TEST(FactsTest, AddingASliceProvesThatTheTableIsLongEnough) {
  std::mt19937 generator(7);
  const auto least = [&](bool added, int64_t rows) {
    GraphBuilder b;
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 4});
    Value* length = b.Op("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
    Value* table = b.Constant("table", RandomFloats({rows, 4}, generator));
    Value* cut = b.Op("Slice", {table, Vector(b, {0}), length, Vector(b, {0})});
    Value* result = b.Op("Min", {Vector(b, {rows}), length});
    if (added) b.Output(b.Op("Add", {x, cut}));
    b.Output(cut).Output(result);
    const std::unique_ptr<Graph> graph = b.Build().value();
    opt::Facts facts(*graph);
    EXPECT_EQ(facts.IsNeverNegative(SymInt(rows) - SymInt::Symbol("seq")),
              facts.DimsOf(cut)->at(0) == SymInt::Symbol("seq"));
    return facts.Of(result).contents->at(0);
  };
  EXPECT_EQ(least(/*added=*/true, 40), SymInt::Symbol("seq"));
  EXPECT_NE(least(/*added=*/false, 40), SymInt::Symbol("seq"));
  // A single row broadcasts, so the sum proves nothing.
  EXPECT_NE(least(/*added=*/true, 1), SymInt::Symbol("seq"));
}

// Rows are looked up by the positions first, first + 1, ... of as many rows as x has.
TEST(FactsTest, ALookupOfPositionsProvesThatTheTableIsLongEnough) {
  const auto has_rows = [](int64_t first) {
    GraphBuilder b;
    const auto number = [&](int64_t n) { return b.Constant<int64_t>("n", {}, {n}); };
    Value* table = b.Input("table", DataType::kFloat, {"rows", 8});
    Value* x = b.Input("x", DataType::kFloat, {"seq", 8});
    Value* count = b.Op("Gather", {b.Op("Shape", {x}), number(0)});
    Value* end = b.Op("Add", {count, number(first)});
    b.Output(b.Op("Gather", {table, b.Op("Range", {number(first), end, number(1)})}));
    const std::unique_ptr<Graph> graph = b.Build().value();
    const opt::Facts facts(*graph);
    return facts.IsNeverNegative(SymInt::Symbol("rows") - SymInt::Symbol("seq"));
  };
  EXPECT_TRUE(has_rows(0));
  // No positions at all may begin behind the last row, and then prove nothing.
  EXPECT_FALSE(has_rows(2));
}

TEST(FactsTest, ThereIsAtLeastOneWindow) {
  GraphBuilder b;
  Value* samples = b.Input("samples", DataType::kFloat, {1, 1, "samples"});
  Value* kernel = b.Input("kernel", DataType::kFloat, {4, 1, 10});
  b.Output(b.Op("Conv", {samples, kernel}, {{"strides", std::vector<int64_t>{5}}}));
  const std::unique_ptr<Graph> graph = b.Build().value();
  opt::Facts facts(*graph);
  const SymInt windows = facts.DimsOf(graph->outputs()[0])->at(2);
  EXPECT_TRUE(facts.IsNeverNegative(windows - 1));
  EXPECT_TRUE(facts.IsNeverNegative(windows + windows - 1));
  EXPECT_FALSE(facts.IsNeverNegative(windows - 2));
}

// The operands have equal extents or an extent of 1, so the sum keeps its extent when it is
// combined with either operand again.
// Windows of 8 need a length that they divide: x is padded to the next, or cut to the one before.
// The padding is cut off behind them.
TEST(FactsTest, APaddedLengthReachesAtLeastAsFar) {
  GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat, {"seq", 4});
  Value* length = b.Op("Shape", {x}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  Value* eight = Vector(b, {8});
  Value* rest = b.Op("Mod", {length, eight});
  Value* pads = b.Op("Concat", {Vector(b, {0, 0}), b.Op("Sub", {eight, rest}), Vector(b, {0})},
                     {{"axis", int64_t{0}}});
  Value* padded = b.Op("Pad", {x, pads});
  Value* axis = Vector(b, {0});
  Value* back = b.Op("Slice", {padded, axis, length, axis});
  Value* cut = b.Op("Slice", {x, axis, b.Op("Sub", {length, rest}), axis});
  b.Output(back).Output(cut);
  const std::unique_ptr<Graph> graph = b.Build().value();
  opt::Facts facts(*graph);
  const SymInt seq = SymInt::Symbol("seq");
  EXPECT_EQ(facts.DimsOf(back)->at(0), seq);
  EXPECT_EQ(facts.DimsOf(cut)->at(0), SymInt(8) * SymInt::FloorQuotient(seq, 8));
}

TEST(FactsTest, BroadcastingAgainWithAnOperandChangesNoExtent) {
  GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat, {"a"});
  Value* y = b.Input("y", DataType::kFloat, {"b"});
  Value* z = b.Input("z", DataType::kFloat, {"c"});
  Value* sum = b.Op("Add", {x, y});
  const std::vector<Value*> same = {b.Op("Add", {sum, x}), b.Op("Mul", {y, sum}),
                                    b.Op("Sub", {sum, sum})};
  Value* other = b.Op("Add", {sum, z});
  for (Value* value : same) b.Output(value);
  b.Output(other);
  const std::unique_ptr<Graph> graph = b.Build().value();
  opt::Facts facts(*graph);
  for (const Value* value : same) EXPECT_EQ(*facts.DimsOf(value), *facts.DimsOf(sum));
  EXPECT_NE(*facts.DimsOf(other), *facts.DimsOf(sum));
}

}  // namespace
}  // namespace attnrun::testing
