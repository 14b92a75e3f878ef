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

}  // namespace
}  // namespace attnrun::testing
