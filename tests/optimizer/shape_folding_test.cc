#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/any_type.h"
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

// expand(4 * batch, -1) as TorchScript writes it: asked of an inner value, with a choice that is
// always the same.
TEST(ShapeFoldingTest, MultiplesOfExtentsAreReadOffTheInputs) {
  OptimizerTester test([](GraphBuilder& b) {
    const auto ints = [&](std::vector<int64_t> values) { return b.Constant("n", Ints(values)); };
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4, "seq"});
    Value* rows = b.Op(
        "Reshape",
        {b.Op("Exp", {x}), b.Op("Concat", {ints({-1}), b.Op("Shape", {x}, {{"start", int64_t{2}}})},
                                {{"axis", int64_t{0}}})});
    Value* wanted = b.Op("Concat", {b.Op("Gather", {b.Op("Shape", {rows}), ints({0})}), ints({3})},
                         {{"axis", int64_t{0}}});
    Value* asked = b.Op("Where", {b.Op("Equal", {wanted, ints({-1, -1})}), ints({1, 1}), wanted});
    b.Output(b.Op("Expand", {b.Input("y", DataType::kFloat, {1, 3}), asked}));
  });
  EXPECT_EQ(test.Ops(), "Concat Expand Mul Shape");
  test.Dim("batch", 2).ExpectSameResults(0);
}

}  // namespace
}  // namespace attnrun::testing
