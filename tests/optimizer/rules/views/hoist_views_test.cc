// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/any_type.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

using Extents = std::vector<int64_t>;

Value* Shape(GraphBuilder& b, const Extents& extents) { return b.Constant("shape", Ints(extents)); }

std::vector<Value*> Parts(GraphBuilder& b, int64_t axis = -1) {
  Value* x = b.Input("x", DataType::kFloat, {"batch", 6, 12});
  return b.Ops("Split", 3, {x, Shape(b, axis == -1 ? Extents{2, 4, 6} : Extents{1, 2, 3})},
               {{"axis", axis}});
}

void Read(GraphBuilder& b, Value* value) { b.Output(b.Op("Exp", {value})); }

TEST(HoistViewsTest, EqualViewsOfPartsMoveBeforeTheSplit) {
  const OptimizerTester reshaped([](GraphBuilder& b) {
    const std::vector<Value*> parts = Parts(b);
    for (size_t i = 0; i < 3; ++i) {
      const auto width = static_cast<int64_t>(2 * i + 2);
      Read(b, b.Op("Reshape", {parts[i], Shape(b, {-1, 3, width})}));
    }
  });
  EXPECT_EQ(reshaped.Ops(), "Exp*3 Reshape Split");
  reshaped.ExpectSameResults(4 * kEpsilon);
  // One part has no reader.
  const OptimizerTester transposed([](GraphBuilder& b) {
    const std::vector<Value*> parts = Parts(b);
    for (const size_t i : {0, 2}) {
      Read(b, b.Op("Transpose", {parts[i]}, {{"perm", Extents{1, 0, 2}}}));
    }
  });
  EXPECT_EQ(transposed.Ops(), "Exp*2 Split Transpose");
  transposed.ExpectSameResults(4 * kEpsilon);
}

TEST(HoistViewsTest, OtherViewsStay) {
  const OptimizerTester unequal([](GraphBuilder& b) {
    const std::vector<Value*> parts = Parts(b);
    Read(b, b.Op("Reshape", {parts[0], Shape(b, {-1, 3, 2})}));
    Read(b, b.Op("Reshape", {parts[1], Shape(b, {-1, 2, 4})}));
  });
  EXPECT_EQ(unequal.Count("Reshape"), 2);
  const OptimizerTester one_is_read_as_it_is([](GraphBuilder& b) {
    const std::vector<Value*> parts = Parts(b);
    Read(b, b.Op("Reshape", {parts[0], Shape(b, {-1, 3, 2})}));
    Read(b, parts[1]);
  });
  EXPECT_EQ(one_is_read_as_it_is.Count("Reshape"), 1);
  EXPECT_EQ(one_is_read_as_it_is.Applied("move_views"), 0);
  const OptimizerTester of_positions([](GraphBuilder& b) {
    for (Value* part : Parts(b, 1)) Read(b, b.Op("Reshape", {part, Shape(b, {-1, 12})}));
  });
  EXPECT_EQ(of_positions.Count("Reshape"), 3);
  const OptimizerTester of_channels([](GraphBuilder& b) {
    for (Value* part : Parts(b)) Read(b, b.Op("Transpose", {part}, {{"perm", Extents{0, 2, 1}}}));
  });
  EXPECT_EQ(of_channels.Count("Transpose"), 3);
  for (const OptimizerTester* test :
       {&unequal, &one_is_read_as_it_is, &of_positions, &of_channels}) {
    test->ExpectSameResults(4 * kEpsilon);
  }
}

}  // namespace
}  // namespace attnrun::testing
