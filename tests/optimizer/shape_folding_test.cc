#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// The length of x plus one, and the length of y. The name of one dimension reads like a formula of
// the other.
OptimizerTester Lengths(const std::string& of_x, const std::string& of_y) {
  return OptimizerTester([&](GraphBuilder& b) {
    const auto length = [&](Value* of) {
      return b.Op("Gather",
                  {b.Op("Shape", {b.Op("Neg", {of})}), b.Constant<int64_t>("0", {1}, {0})});
    };
    Value* one = b.Constant<int64_t>("1", {1}, {1});
    b.Output(b.Op("Add", {length(b.Input("x", DataType::kFloat, {of_x.c_str(), 4})), one}));
    b.Output(length(b.Input("y", DataType::kFloat, {of_y.c_str(), 4})));
  });
}

TEST(ShapeFoldingTest, NamesOfDimensionsAreNoFormulas) {
  for (const auto& [x, y] : {std::pair("past", "past+1"), {"6", "7"}, {"?3", "?3+1"}}) {
    OptimizerTester test = Lengths(x, y);
    EXPECT_EQ(test.Count("Shape"), 2) << x;
    test.Dim(x, 5).Dim(y, 9).ExpectSameResults(0);
  }
}

}  // namespace
}  // namespace attnrun::testing
