// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/int8_gemm.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// Bytes of [rows, columns] as the type; a third of them are extremes, whose products saturate 16
// bits where they are added there.
Tensor RandomBytes(DataType type, int64_t rows, int64_t columns, std::mt19937& generator) {
  const int64_t least = type == DataType::kInt8 ? -128 : 0;
  std::vector<int64_t> bytes(rows * columns);
  for (int64_t& byte : bytes) {
    byte = least + (generator() % 3 == 0 ? 255 : static_cast<int64_t>(generator() % 256));
  }
  return FromInts(type, {rows, columns}, bytes).value();
}

struct Case {
  int64_t m;
  int64_t k;
  int64_t n;
};

class Int8GemmTest : public ::testing::TestWithParam<Case> {};

TEST_P(Int8GemmTest, SumsAreExact) {
  const auto [m, k, n] = GetParam();
  std::mt19937 generator(Seed());
  for (const DataType a_type : {DataType::kUint8, DataType::kInt8}) {
    for (const DataType b_type : {DataType::kUint8, DataType::kInt8}) {
      const Tensor a = RandomBytes(a_type, m, k, generator);
      const Tensor b = RandomBytes(b_type, k, n, generator);
      const Tensor b_zero = RandomBytes(b_type, 1, n, generator);
      std::vector<int32_t> a_zeros(m);
      for (int32_t& zero : a_zeros) zero = static_cast<int32_t>(generator() % 256) - 100;
      const ops::Int8Matrix matrix = {&b, 0, k, n, &b_zero};
      const auto packed = ops::Int8Panels::Pack({&matrix, 1}, Allocator::Heap()).value();
      std::vector<int32_t> sums(m * n, -1);
      ops::Int8Epilogue epilogue;
      epilogue.sums = sums.data();
      ops::Int8Gemm({&a, 0, m, k, a_zeros}, *packed, epilogue);
      const auto as = ToDoubles(a).value();
      const auto bs = ToDoubles(b).value();
      const auto zeros = ToDoubles(b_zero).value();
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l) {
            sum += (as[i * k + l] - a_zeros[i]) * (bs[l * n + j] - zeros[j]);
          }
          ASSERT_EQ(sums[i * n + j], sum) << i << ", " << j;
        }
      }
    }
  }
}

TEST_P(Int8GemmTest, StoredBytesMakeTheSamePanels) {
  const auto [m, k, n] = GetParam();
  std::mt19937 generator(Seed());
  const Tensor a = RandomBytes(DataType::kUint8, m, k, generator);
  for (const bool with_zeros : {false, true}) {
    // Few extremes, so that a machine with saturation corrections uses them.
    const Tensor b = RandomInts(DataType::kInt8, {k, n}, generator, -70, 70);
    const Tensor b_zero = RandomBytes(DataType::kInt8, 1, n, generator);
    const ops::Int8Matrix matrix = {&b, 0, k, n, with_zeros ? &b_zero : nullptr};
    const auto packed = ops::Int8Panels::Pack({&matrix, 1}, Allocator::Heap()).value();
    const auto read = ops::Int8Panels::Read(k, n, packed->bytes());
    ASSERT_NE(read, nullptr);
    const auto sums = [&, m = m, k = k, n = n](const ops::Int8Panels& panels) {
      std::vector<int32_t> sums(m * n, -1);
      ops::Int8Epilogue epilogue;
      epilogue.sums = sums.data();
      ops::Int8Gemm({&a, 0, m, k, {}}, panels, epilogue);
      return sums;
    };
    EXPECT_EQ(sums(*read), sums(*packed));
  }
}

TEST(Int8PanelsTest, BytesThatDoNotFitAreRefused) {
  std::mt19937 generator(Seed());
  const Tensor b = RandomInts(DataType::kInt8, {200, 100}, generator, -70, 70);
  const ops::Int8Matrix matrix = {&b, 0, 200, 100, nullptr};
  const auto packed = ops::Int8Panels::Pack({&matrix, 1}, Allocator::Heap()).value();
  const ops::PackedBytes bytes = packed->bytes();
  EXPECT_NE(ops::Int8Panels::Read(200, 100, bytes), nullptr);
  EXPECT_EQ(ops::Int8Panels::Read(200, 140, bytes), nullptr);
  EXPECT_EQ(ops::Int8Panels::Read(300, 100, bytes), nullptr);
  for (const uint64_t facts : {1024U, 7U, 2000U}) {
    EXPECT_EQ(ops::Int8Panels::Read(200, 100, {facts, bytes.parts}), nullptr) << facts;
  }
  for (size_t i = 0; i < bytes.parts.size(); ++i) {
    ops::PackedBytes lie = bytes;
    lie.parts[i] = Tensor::Allocate(DataType::kUint8, {100}).value();
    EXPECT_EQ(ops::Int8Panels::Read(200, 100, lie), nullptr) << i;
  }
  EXPECT_EQ(ops::Int8Panels::Read(200, 100, {bytes.facts, {}}), nullptr);
}

INSTANTIATE_TEST_SUITE_P(All, Int8GemmTest,
                         ::testing::Values(Case{1, 1, 1}, Case{2, 3, 5}, Case{7, 63, 31},
                                           Case{16, 64, 32}, Case{17, 65, 33}, Case{33, 200, 130},
                                           Case{70, 900, 65}, Case{300, 31, 20}));

}  // namespace
}  // namespace attnrun::testing
