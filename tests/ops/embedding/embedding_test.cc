// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/parallel.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

OpTester Sum() { return OpTester("EmbeddingSum", 1, "attnrun"); }
OpTester Mean(float min_count) {
  return std::move(OpTester("MaskedMean", 1, "attnrun").Attribute("min_count", min_count));
}

TEST(EmbeddingSumTest, AddsRowsOfTablesAndPositions) {
  OpTester op = Sum();
  op.Input(Make<float>({3, 2}, {1, 2, 3, 4, 5, 6})).Input(Make<int64_t>({2, 2}, {0, 2, -1, 1}));
  op.Input(Make<float>({2, 2}, {10, 20, 30, 40})).Input(Make<int32_t>({2, 2}, {1, 0, 0, 1}));
  op.Input(Make<float>({3, 2}, {100, 200, 300, 400, 500, 600}));
  const Tensor expected = Make<float>({2, 2, 2}, {131, 242, 315, 426, 115, 226, 333, 444});
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectClose(op.Kernel().value()[0], expected, 0);
}

TEST(EmbeddingSumTest, KernelAgreesOnManySizes) {
  std::mt19937 generator(Seed());
  for (const int64_t columns : {1, 7, 32, 384}) {
    for (const int64_t rows : {0, 1, 5, 130}) {
      OpTester op = Sum();
      for (const int64_t extent : {300, 2}) {
        op.Input(RandomFloats({extent, columns}, generator));
        op.Input(RandomInts(DataType::kInt64, {3, rows}, generator, -extent, extent - 1));
      }
      op.Input(RandomFloats({140, columns}, generator));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 8 * kEpsilon);
    }
  }
}

TEST(EmbeddingSumTest, ErrorsSayWhatIsWrong) {
  const Tensor table = Make<float>({2, 1}, {1, 2});
  OpTester outside = Sum();
  outside.Input(table).Input(Make<int64_t>({1}, {2})).Input(table);
  EXPECT_THAT(std::string(outside.Kernel().status().message()), HasSubstr("index 2 is outside"));
  OpTester longer = Sum();
  longer.Input(table).Input(Make<int64_t>({3}, {0, 1, 0})).Input(table);
  EXPECT_THAT(std::string(longer.Kernel().status().message()), HasSubstr("at least 3 positions"));
  OpTester other = Sum();
  other.Input(table).Input(Make<int64_t>({1}, {0})).Input(Make<float>({2, 2}, {1, 2, 3, 4}));
  EXPECT_THAT(std::string(other.Reference().status().message()),
              HasSubstr("tables of equal width"));
  // Found by the fuzzer of rules.
  OpTester gap = Sum();
  gap.Input(table).Input(Make<int64_t>({1}, {0})).NoInput().Input(table);
  EXPECT_THAT(std::string(gap.Reference().status().message()),
              HasSubstr("required input 2 is left out"));
}

TEST(MaskedMeanTest, AveragesUnmaskedTokens) {
  OpTester op = Mean(1e-9F);
  op.Input(Make<float>({2, 3, 2}, {1, 2, 3, 4, 50, 60, 7, 8, 9, 10, 11, 12}));
  op.Input(MakeBool({2, 3}, {1, 1, 0, 0, 0, 0}));
  const Tensor expected = Make<float>({2, 2}, {2, 3, 0, 0});
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectClose(op.Kernel().value()[0], expected, 0);
}

TEST(MaskedMeanTest, KernelAgreesOnManySizes) {
  std::mt19937 generator(Seed());
  for (const int64_t columns : {1, 63, 64, 384}) {
    for (const int64_t rows : {0, 1, 40}) {
      for (const DataType type : {DataType::kInt64, DataType::kFloat}) {
        OpTester op = Mean(1);
        op.Input(RandomFloats({2, rows, columns}, generator));
        op.Input(RandomInts(type, {2, rows}, generator, 0, 1));
        ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 64 * kEpsilon);
      }
    }
  }
}

// The operator replaces a sum of products, in which NaN · 0 is NaN.
TEST(MaskedMeanTest, MaskedNaNStillPropagates) {
  OpTester op = Mean(1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  op.Input(Make<float>({1, 2, 1}, {1, nan})).Input(Make<int64_t>({1, 2}, {1, 0}));
  EXPECT_TRUE(std::isnan(op.Kernel().value()[0].data<float>()[0]));
  EXPECT_TRUE(std::isnan(op.Reference().value()[0].data<float>()[0]));
}

TEST(MaskedMeanTest, ErrorsSayWhatIsWrong) {
  OpTester op = Mean(1);
  op.Input(Make<float>({1, 2, 1}, {1, 2})).Input(Make<int64_t>({1, 1}, {1}));
  EXPECT_THAT(std::string(op.Kernel().status().message()), HasSubstr("expected floats [B,S,D]"));
}

}  // namespace
}  // namespace attnrun::testing
