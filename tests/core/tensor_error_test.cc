// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/elements.h"

namespace attnrun {
namespace {

using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor Floats(const std::vector<float>& values) {
  return Tensor::Of<float>({static_cast<int64_t>(values.size())}, values).value();
}

PrecisionError Error(const std::vector<float>& float32, const std::vector<float>& lower) {
  return ErrorOf(Floats(float32), Floats(lower)).value();
}

TEST(TensorErrorTest, FiguresAreThoseOfTheDefinition) {
  const PrecisionError error = Error({3, 0, 4, 0}, {3, 1, 2, 0});
  EXPECT_EQ(error.incomparable, "");
  EXPECT_EQ(error.largest, 2);
  EXPECT_DOUBLE_EQ(error.rms, std::sqrt(5.0 / 4));
  EXPECT_DOUBLE_EQ(error.float32_rms, 2.5);
  EXPECT_DOUBLE_EQ(error.cosine, 17 / (5 * std::sqrt(14.0)));
  EXPECT_DOUBLE_EQ(error.relative_rms(), std::sqrt(5.0 / 4) / 2.5);
}

TEST(TensorErrorTest, EqualTensorsHaveNoError) {
  const std::vector<std::vector<float>> tensors = {{0.1F, -0.7F, 1e-30F}, {0, 0}, {}};
  for (const std::vector<float>& values : tensors) {
    const PrecisionError error = Error(values, values);
    EXPECT_EQ(error.largest, 0);
    EXPECT_EQ(error.rms, 0);
    EXPECT_EQ(error.cosine, 1);
    EXPECT_EQ(error.relative_rms(), 0);
  }
  EXPECT_DOUBLE_EQ(Error({1, 2}, {-1, -2}).cosine, -1);
}

TEST(TensorErrorTest, ZerosHaveNoDirection) {
  const PrecisionError error = Error({0, 0}, {0, 3});
  EXPECT_EQ(error.cosine, 0);
  EXPECT_EQ(error.relative_rms(), kInfinity);
  EXPECT_EQ(Error({0, 3}, {0, 0}).cosine, 0);
  EXPECT_EQ(Error({0, 3}, {0, 0}).relative_rms(), 1);
}

TEST(TensorErrorTest, MaskedElementsAreLeftOut) {
  const PrecisionError error = Error({kNaN, -kInfinity, 3, 4}, {kNaN, -kInfinity, 3, 4});
  EXPECT_EQ(error.largest, 0);
  EXPECT_DOUBLE_EQ(error.float32_rms, std::sqrt(12.5));
  EXPECT_EQ(error.cosine, 1);
  for (const float other : {kNaN, -kInfinity, 1.0F}) {
    const PrecisionError infinite = Error({kInfinity, 1}, {other, 1});
    EXPECT_EQ(infinite.largest, kInfinity);
    EXPECT_EQ(infinite.rms, kInfinity);
    EXPECT_EQ(infinite.relative_rms(), kInfinity);
    EXPECT_EQ(infinite.cosine, 0);
  }
}

// The tensor is compared in several pieces.
TEST(TensorErrorTest, EveryElementOfALargeTensorCounts) {
  std::vector<float> values((size_t{2} << 20) + 5, 1);
  const Tensor float32 = Floats(values);
  for (const size_t place : {size_t{0}, (size_t{1} << 20) - 1, size_t{1} << 20}) values[place] = 3;
  values.back() = 4;
  const PrecisionError error = ErrorOf(float32, Floats(values)).value();
  EXPECT_EQ(error.largest, 3);
  EXPECT_DOUBLE_EQ(error.rms, std::sqrt(21.0 / static_cast<double>(values.size())));
  EXPECT_EQ(error.float32_rms, 1);
}

TEST(TensorErrorTest, OtherTypesAndStridesAreRead) {
  const Tensor rows = Tensor::Of<float>({2, 2}, {1, 2, 3, 4}).value();
  const Tensor columns = Tensor::Of<float>({2, 2}, {1, 3, 2, 5}).value();
  EXPECT_EQ(ErrorOf(rows.View({2, 2}, {1, 2}, 0), columns)->largest, 1);
  const Tensor ids = Tensor::Of<int64_t>({2}, {7, 9}).value();
  EXPECT_EQ(ErrorOf(ids, Tensor::Of<int64_t>({2}, {7, 5}).value())->largest, 4);
  const Tensor packed = FromInts(DataType::kInt4, {3}, {1, 2, -3}).value();
  EXPECT_EQ(ErrorOf(packed, FromInts(DataType::kInt4, {3}, {1, 2, 3}).value())->largest, 6);
}

TEST(TensorErrorTest, SaysWhyThereAreNoFigures) {
  const PrecisionError shapes = Error({1}, {1, 2});
  EXPECT_EQ(shapes.incomparable, "float32 gives float[1], but the lower precision float[2]");
  EXPECT_EQ(shapes.relative_rms(), 0);
  const Tensor text = Tensor::Of<std::string>({1}, {"a"}).value();
  EXPECT_THAT(ErrorOf(text, text)->incomparable, HasSubstr("string"));
  const Tensor sequence = *Tensor::Sequence(DataType::kFloat, {});
  EXPECT_THAT(ErrorOf(sequence, sequence)->incomparable, HasSubstr("sequence"));
  EXPECT_FALSE(ErrorOf(Tensor(), Tensor())->incomparable.empty());
}

}  // namespace
}  // namespace attnrun
