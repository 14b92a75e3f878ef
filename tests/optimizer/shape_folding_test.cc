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

// What a convolution leaves might be negative, for all that is known, but is an extent where it is
// read off one.
TEST(ShapeFoldingTest, ExtentsBehindAConvolution) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 1, "n"});
    std::mt19937 generator(7);
    Value* y = b.Op("Conv", {x, b.Constant("w", RandomFloats({4, 1, 5}, generator))},
                    {{"strides", std::vector<int64_t>{2}}});
    const auto extent = [&](int64_t axis) {
      return b.Op("Shape", {y}, {{"start", axis}, {"end", axis + 1}});
    };
    Value* two = b.Constant<int64_t>("two", {1}, {2});
    const auto shaped = [&](Value* value, const std::vector<Value*>& extents) {
      return b.Op("Reshape", {value, b.Op("Concat", extents, {{"axis", int64_t{0}}})});
    };
    Value* z = shaped(y, {extent(0), two, two, extent(2)});
    z = shaped(z, {extent(0), b.Constant<int64_t>("four", {1}, {4}), extent(2)});
    // So is the number of positions that are counted up to it.
    Value* zero = b.Constant<int64_t>("zero", {}, {0});
    Value* end = b.Op("Squeeze", {extent(2), b.Constant<int64_t>("axes", {1}, {0})});
    Value* positions = b.Op("Range", {zero, end, b.Constant<int64_t>("one", {}, {1})});
    Value* open = b.Op("GreaterOrEqual", {positions, zero});
    z = b.Op("Where", {open, z, b.Constant<float>("shut", {}, {0})});
    b.Output(b.Op("Relu", {z}));
  });
  EXPECT_EQ(test.Ops(), "Conv Relu");
  test.Dim("n", 11).ExpectSameResults(64 * kEpsilon);
}

}  // namespace
}  // namespace attnrun::testing
