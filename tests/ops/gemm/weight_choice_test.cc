// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/weight_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/gemm/int8_weight.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 256;
constexpr int64_t kColumns = 100;

std::vector<float> BellShaped(int64_t count) {
  std::mt19937 generator(Seed());
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(generator);
  return numbers;
}

ops::SideBySide Matrix(const std::vector<float>& numbers, int64_t rows) {
  const int64_t columns = static_cast<int64_t>(numbers.size()) / rows;
  return ops::SideBySide({ops::MatrixView{numbers.data(), rows, columns, columns}});
}

TEST(WeightChoiceTest, BellShapedWeightsAreInt8) {
  const std::vector<float> weights = BellShaped(kRows * kColumns);
  const ops::WeightChoice choice = ops::ChooseInt8(Matrix(weights, kRows), false);
  EXPECT_EQ(choice.precision, Precision::kInt8);
  EXPECT_EQ(choice.reason, "");
}

TEST(WeightChoiceTest, ScalesOfColumnsAndZerosDoNotMatter) {
  std::vector<float> weights = BellShaped(kRows * kColumns);
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    weights[i] *= std::pow(10.0F, static_cast<float>(i % kColumns % 9) - 4);
    if (i % kColumns == 5) weights[i] = 0;
  }
  EXPECT_EQ(ops::ChooseInt8(Matrix(weights, kRows), false).precision, Precision::kInt8);
}

TEST(WeightChoiceTest, WeightsThatStandOutAreBf16) {
  std::vector<float> weights = BellShaped(kRows * kColumns);
  for (int64_t j = 0; j < kColumns; ++j) weights[j] = 12;
  const ops::WeightChoice choice = ops::ChooseInt8(Matrix(weights, kRows), false);
  EXPECT_EQ(choice.precision, Precision::kBfloat16);
  EXPECT_THAT(choice.reason, HasSubstr("outliers"));
}

TEST(WeightChoiceTest, SomeStayFloat32) {
  std::vector<float> weights = BellShaped(kRows * kColumns);
  const auto reason = [](const std::vector<float>& numbers, int64_t rows, bool is_final = false) {
    const ops::WeightChoice choice = ops::ChooseInt8(Matrix(numbers, rows), is_final);
    EXPECT_EQ(choice.precision, Precision::kFloat32);
    return choice.reason;
  };
  EXPECT_THAT(reason(weights, kRows, /*is_final=*/true), HasSubstr("final"));
  EXPECT_THAT(reason(BellShaped(100 * 100), 100), HasSubstr("small: 100 x 100"));
  EXPECT_THAT(reason(std::vector<float>(70000, 1), 70000), HasSubstr("32 bits"));
  for (const float unusual : {NAN, INFINITY, -INFINITY}) {
    weights[kColumns + 3] = unusual;
    EXPECT_THAT(reason(weights, kRows), HasSubstr("not all finite"));
  }
}

TEST(WeightChoiceTest, PackingFollowsTheChoice) {
  std::vector<float> weights = BellShaped(kRows * kColumns);
  std::string reason;
  ops::KernelContext context;
  context.precision = Precision::kInt8;
  context.finer_reason = &reason;
  const auto pack = [&] {
    return ops::PackedMatrix::Pack(Matrix(weights, kRows), context).value()->format();
  };
  EXPECT_EQ(pack(), ops::BestInt8Format());
  EXPECT_EQ(reason, "");
  context.is_final = true;
  EXPECT_EQ(pack(), ops::PackedMatrix::Pack(Matrix(weights, kRows)).value()->format());
  EXPECT_THAT(reason, HasSubstr("final"));
  // A node with several weights keeps the reason of the first that has one.
  context.is_final = false;
  EXPECT_EQ(pack(), ops::BestInt8Format());
  EXPECT_THAT(reason, HasSubstr("final"));
  reason.clear();
  for (int64_t j = 0; j < kColumns; ++j) weights[j] = 12;
  EXPECT_EQ(pack(), ops::FormatFor(Precision::kBfloat16, DataType::kFloat));
  EXPECT_THAT(reason, HasSubstr("outliers"));
}

}  // namespace
}  // namespace attnrun::testing
