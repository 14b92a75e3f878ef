#include "ops/matmul/brgemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

TEST(BrgemmTest, SumsInTheOrderOfKWithFusedMultiplyAdds) {
  constexpr int64_t kRows = 16;
  constexpr int64_t kColumns = 48;
  constexpr int64_t kDepth = 200;
  for (const bool accumulate : {false, true}) {
    const Brgemm* kernel =
        Brgemm::Get({kRows, kColumns, kDepth, kDepth + 3, kColumns, kColumns + 5, accumulate});
    if (kernel == nullptr) GTEST_SKIP() << "this oneDNN has no micro-kernels for this CPU";
    std::mt19937 generator(Seed());
    const Tensor a = RandomFloats({kRows, kDepth + 3}, generator);
    const Tensor b = RandomFloats({kDepth, kColumns}, generator);
    std::vector<float> c(kRows * (kColumns + 5), 0.25F);
    kernel->Multiply(a.data<float>(), b.data<float>(), c.data());
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < kDepth; ++k) {
          sum = std::fma(a.data<float>()[i * (kDepth + 3) + k], b.data<float>()[k * kColumns + j],
                         sum);
        }
        EXPECT_EQ(c[i * (kColumns + 5) + j], accumulate ? sum + 0.25F : sum) << i << " " << j;
      }
    }
    EXPECT_EQ(c[kColumns], 0.25F);
  }
}

TEST(BrgemmTest, IsKept) {
  const BrgemmShape shape = {16, 48, 32, 32, 48, 48, false};
  EXPECT_EQ(Brgemm::Get(shape), Brgemm::Get(shape));
}

TEST(BrgemmTest, IsNullForWhatOneDnnRefuses) {
  EXPECT_EQ(Brgemm::Get({-1, 48, 32, 32, 48, 48, false}), nullptr);
}

}  // namespace
}  // namespace attnrun::testing
