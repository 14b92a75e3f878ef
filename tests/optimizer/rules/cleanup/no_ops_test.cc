// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "support/any_type.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

OptimizerTester Dropped(float ratio, bool training, bool mask_is_read = false) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4});
    const std::vector<Value*> results = b.Ops(
        "Dropout", 2,
        {x, b.Constant<float>("ratio", {}, {ratio}), b.Constant<bool>("training", {}, {training})},
        {{"seed", int64_t{1}}});
    b.Output(b.Op("Exp", {results[0]}));
    if (mask_is_read) b.Output(results[1]);
  });
}

TEST(NoOpsTest, DropsDropoutThatDropsNothing) {
  EXPECT_EQ(Dropped(0.5f, false).Ops(), "Exp");
  EXPECT_EQ(Dropped(0.0f, true).Ops(), "Exp");
  Dropped(0.0f, true).ExpectSameResults(16 * kEpsilon);
}

TEST(NoOpsTest, LeavesDropoutThatDropsOrWhoseMaskIsRead) {
  EXPECT_EQ(Dropped(0.5f, true).Ops(), "Dropout Exp");
  EXPECT_EQ(Dropped(0.0f, true, true).Ops(), "Dropout Exp");
}

OptimizerTester Padded(const std::vector<int64_t>& pads) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4});
    b.Output(b.Op("Exp", {b.Op("Pad", {x, b.Constant("pads", Ints(pads))})}));
  });
}

TEST(NoOpsTest, DropsPaddingByNothing) {
  EXPECT_EQ(Padded({0, 0, 0, 0}).Ops(), "Exp");
  EXPECT_EQ(Padded({0, 0, 0, 1}).Ops(), "Exp Pad");
  Padded({0, 0, 0, 0}).ExpectSameResults(16 * kEpsilon);
}

// As JAX begins a maximum.
TEST(NoOpsTest, DropsBoundsThatBindNothing) {
  OptimizerTester test([](GraphBuilder& b) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4});
    Value* above = b.Op("Max", {b.Constant<float>("least", {}, {-kInfinity}), x});
    Value* below = b.Op("Min", {above, b.Constant<float>("most", {}, {kInfinity})});
    b.Output(b.Op("Exp", {b.Op("Max", {below, b.Constant<float>("bound", {}, {0})})}));
  });
  EXPECT_EQ(test.Ops(), "Exp Max");
  test.ExpectSameResults(16 * kEpsilon);
}

// Parts of x that lie between these bounds, side by side.
OptimizerTester Joined(const std::vector<int64_t>& bounds) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {3, "length"});
    Value* const step = b.Constant("step", Ints({1}));
    std::vector<Value*> parts;
    for (size_t i = 0; i + 1 < bounds.size(); ++i) {
      parts.push_back(b.Op("Slice", {x, b.Constant("begin", Ints({bounds[i]})),
                                     b.Constant("end", Ints({bounds[i + 1]})),
                                     b.Constant("axis", Ints({1})), step}));
    }
    b.Output(b.Op("Exp", {b.Op("Concat", parts, {{"axis", int64_t{-1}}})}));
  });
}

TEST(NoOpsTest, PartsThatAreJoinedAgainAreTheWhole) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  for (const std::vector<int64_t>& bounds :
       {std::vector<int64_t>{0, 1, kEnd}, {0, -1, kEnd}, {0, 2, 2, 5, kEnd}}) {
    OptimizerTester test = Joined(bounds);
    EXPECT_EQ(test.Ops(), "Exp");
    for (const int64_t length : {0, 1, 3, 9}) {
      test.Dim("length", length).ExpectSameResults(16 * kEpsilon);
    }
  }
}

TEST(NoOpsTest, NotPartsThatLeaveSomethingOutOrOverlap) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  for (const std::vector<int64_t>& bounds :
       {std::vector<int64_t>{1, 2, kEnd}, {0, 1, 4}, {0, 1, -1, kEnd}}) {
    OptimizerTester test = Joined(bounds);
    EXPECT_GT(test.Count("Concat") + test.Count("Slice"), 0);
    for (const int64_t length : {0, 1, 3, 9}) {
      test.Dim("length", length).ExpectSameResults(16 * kEpsilon);
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
