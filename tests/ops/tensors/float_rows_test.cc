// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/float_rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "core/elements.h"
#include "core/minifloat.h"
#include "core/parallel.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

class HalfTypeTest : public ::testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(Types, HalfTypeTest,
                         ::testing::Values(DataType::kFloat16, DataType::kBfloat16));

TEST_P(HalfTypeTest, EveryPatternRoundTrips) {
  Tensor all = Tensor::Allocate(GetParam(), {65536}).value();
  std::iota(all.mutable_data<uint16_t>(), all.mutable_data<uint16_t>() + 65536, uint16_t{0});
  Tensor floats = ops::AsFloat(all, Allocator::Heap()).value();
  Tensor back = Tensor::Allocate(GetParam(), {65536}).value();
  ops::WriteFloats(floats.data<float>(), 65536, back, 0);
  for (int i = 0; i < 65536; ++i) {
    const double expected = DecodeFloat(GetParam(), static_cast<uint16_t>(i));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(floats.data<float>()[i])) << i;
      EXPECT_TRUE(std::isnan(DecodeFloat(GetParam(), back.data<uint16_t>()[i]))) << i;
    } else {
      EXPECT_EQ(floats.data<float>()[i], expected) << i;
      EXPECT_EQ(back.data<uint16_t>()[i], i);
    }
  }
}

TEST_P(HalfTypeTest, FloatsRoundToNearestEven) {
  std::mt19937 generator(Seed());
  // The count is odd, so the last vector is partial.
  Tensor floats = Tensor::Allocate(DataType::kFloat, {100003}).value();
  for (int64_t i = 0; i < floats.num_elements(); ++i) {
    // All exponents and signs; every other value lies exactly between two neighbors.
    const uint32_t bits = static_cast<uint32_t>(generator());
    const uint32_t half_way = GetParam() == DataType::kFloat16 ? 0x1000 : 0x8000;
    floats.mutable_data<float>()[i] =
        std::bit_cast<float>(i % 2 == 0 ? bits : (bits & ~(2 * half_way - 1)) | half_way);
  }
  Tensor out = Tensor::Allocate(GetParam(), {100003}).value();
  ops::WriteFloats(floats.data<float>(), out.num_elements(), out, 0);
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const float value = floats.data<float>()[i];
    if (std::isnan(value)) continue;
    ASSERT_EQ(out.data<uint16_t>()[i], EncodeFloat(GetParam(), value)) << value;
  }
}

TEST(ParallelForWithScratchTest, CoversTheRangeWithScratchOfItsOwn) {
  const int before = NumThreads();
  SetNumThreads(3);
  std::vector<int> visits(100, 0);
  ASSERT_TRUE(ops::ParallelForWithScratch(100, 7, 5, Allocator::Heap(),
                                          [&](int64_t begin, int64_t end, float* scratch) {
                                            for (int64_t i = begin; i < end; ++i) {
                                              std::fill_n(scratch, 5, static_cast<float>(i));
                                              ++visits[i];
                                              if (scratch[4] != static_cast<float>(i)) ++visits[i];
                                            }
                                          })
                  .ok());
  SetNumThreads(before);
  EXPECT_EQ(visits, std::vector<int>(100, 1));
}

}  // namespace
}  // namespace attnrun::testing
