// SPDX-License-Identifier: Apache-2.0
#include "optimizer/analysis/node_queries.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/graph_builder.h"

namespace attnrun::opt {
namespace {

TEST(AxisOfTest, CountsFromTheFront) {
  testing::GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat, {2, 3});
  const auto axis = [&](int64_t axis, int rank) {
    return AxisOf(*b.Op("Concat", {x, x}, {{"axis", axis}})->producer(), rank);
  };
  EXPECT_EQ(axis(1, 2), 1);
  EXPECT_EQ(axis(-1, 2), 1);
  EXPECT_EQ(axis(-2, 2), 0);
  // Axes that are none, also those of tensors whose rank is not known.
  for (const int64_t none : {std::numeric_limits<int64_t>::min(), int64_t{-3}, int64_t{2},
                             std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(axis(none, 2), std::nullopt) << none;
  }
  for (const int64_t none : {std::numeric_limits<int64_t>::min(), int64_t{-1}, int64_t{0}}) {
    EXPECT_EQ(axis(none, -1), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace attnrun::opt
