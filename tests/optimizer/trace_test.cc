#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// The run refuses it; until then nothing may use it as if it were one.
TEST(TraceTest, WhatIsNoPermutationIsNotFollowed) {
  for (const std::vector<int64_t>& perm : {std::vector<int64_t>{0, 70000}, {1, 1}, {-1, 0}, {0}}) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
      Value* once = b.Op("Transpose", {x}, {{"perm", perm}});
      b.Output(b.Op("Transpose", {once}, {{"perm", std::vector<int64_t>{1, 0}}}));
    });
    EXPECT_EQ(test.Count("Transpose"), 2) << perm.back();
  }
}

}  // namespace
}  // namespace attnrun::testing
