// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/parallel.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/scratch.h"

namespace attnrun::testing {
namespace {

// Leaves numbers that raise an exception when they are multiplied where a product will copy blocks.
void SpoilScratch(int depth) {
  constexpr int64_t kFloats = 1 << 16;
  ops::Scratch scratch;
  std::fill_n(scratch.AtLeast<float>(kFloats), kFloats,
              std::numeric_limits<float>::signaling_NaN());
  if (depth > 0) SpoilScratch(depth - 1);
}

// Vectors read more than the columns of B that are copied, and multiply by what they read, which
// takes a hundred times as long where it is near zero.
TEST(UnusedLanesTest, AreZeros) {
  SetNumThreads(1);
  constexpr int64_t kRows = 160;
  constexpr int64_t kDepth = 48;
  for (const int64_t columns : {1, 3, 15, 17, 40}) {
    const std::vector<float> a(kRows * kDepth, 0.5F);
    const std::vector<float> b(columns * kDepth, 2.0F);
    std::vector<float> c(kRows * columns);
    // The columns of B are contiguous.
    const ops::GemmProblem problem = {.a = {a.data(), kRows, kDepth, kDepth},
                                      .b = {b.data(), kDepth, columns, 1, kDepth},
                                      .c = c.data(),
                                      .ldc = columns};
    SpoilScratch(3);
    std::feclearexcept(FE_ALL_EXCEPT);
    ops::BatchedGemm(1, [&](int64_t) { return problem; });
    EXPECT_EQ(std::fetestexcept(FE_INVALID), 0) << columns;
    EXPECT_EQ(c, std::vector<float>(c.size(), kDepth));
  }
}

}  // namespace
}  // namespace attnrun::testing
