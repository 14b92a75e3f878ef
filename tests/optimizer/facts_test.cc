#include "optimizer/facts.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "graph/builder.h"

namespace attnrun::testing {
namespace {

TEST(FactsTest, TheLesserOfAnExtentAndOfOneThatIncludesIt) {
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
  Facts facts(*graph);
  EXPECT_EQ(facts.Of(least).contents, std::vector<SymInt>{SymInt::Symbol("now")});
  EXPECT_FALSE(facts.Of(other).contents->at(0).constant().has_value());
  EXPECT_NE(facts.Of(other).contents, facts.Of(least).contents);
}

// As SEW halves its frames: by pooling, by half their number, and as windows are counted.
TEST(FactsTest, WindowsAreCountedAlike) {
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
  // Nobody says that there are so many.
  Value* fewer = b.Op("Sub", {count, b.Constant<int64_t>("nine", {1}, {9})});
  Value* other = b.Op("Div", {fewer, two});
  b.Output(halved).Output(half).Output(windows).Output(other);
  const std::unique_ptr<Graph> graph = b.Build().value();
  Facts facts(*graph);
  const SymInt expected = facts.DimsOf(halved)->at(2);
  EXPECT_EQ(facts.Of(half).contents, std::vector<SymInt>{expected});
  EXPECT_EQ(facts.Of(windows).contents, std::vector<SymInt>{expected});
  EXPECT_EQ(facts.Of(other).contents->at(0).ToString(), "?div(-10+div(samples,5),2)");
}

}  // namespace
}  // namespace attnrun::testing
