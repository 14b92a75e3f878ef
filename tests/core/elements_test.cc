// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace attnrun {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

const std::vector<DataType>& IntegerTypes() {
  static const auto* const types = new std::vector<DataType>{
      DataType::kUint8,  DataType::kInt8,  DataType::kUint16, DataType::kInt16, DataType::kInt32,
      DataType::kUint32, DataType::kUint4, DataType::kInt4,   DataType::kUint2, DataType::kInt2};
  return *types;
}

std::vector<int64_t> Wrapped(DataType type, const std::vector<int64_t>& values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return ToInts(FromInts(type, shape, values).value()).value();
}

// `value` modulo 2^bits, in the range of the type.
int64_t Modulo(DataType type, int64_t value) {
  const int64_t range = int64_t{1} << BitWidth(type);
  const int64_t low = ((value % range) + range) % range;
  return IsSignedInteger(type) && low >= range / 2 ? low - range : low;
}

TEST(ElementsTest, IntegersKeepTheirLowestBits) {
  for (const DataType type : IntegerTypes()) {
    std::vector<int64_t> values;
    std::vector<int64_t> expected;
    // The count is odd, so the packed types use only half of their last byte.
    for (int64_t value = -300; value <= 300; ++value) values.push_back(value * 131 + 1);
    for (const int64_t value : values) expected.push_back(Modulo(type, value));
    EXPECT_THAT(Wrapped(type, values), ElementsAreArray(expected)) << Name(type);
    const std::vector<double> reals(values.begin(), values.end());
    const Tensor tensor = FromDoubles(type, {static_cast<int64_t>(reals.size())}, reals).value();
    EXPECT_THAT(ToInts(tensor).value(), ElementsAreArray(expected)) << Name(type);
  }
}

TEST(ElementsTest, SixtyFourBitsAreExact) {
  const std::vector<int64_t> extremes = {std::numeric_limits<int64_t>::min(),
                                         std::numeric_limits<int64_t>::max(), -1,
                                         (int64_t{1} << 53) + 1};
  EXPECT_THAT(Wrapped(DataType::kInt64, extremes), ElementsAreArray(extremes));
  EXPECT_THAT(Wrapped(DataType::kUint64, extremes), ElementsAreArray(extremes));
}

TEST(ElementsTest, PackedTypesFillTheLowestBitsFirst) {
  const Tensor nibbles = FromInts(DataType::kInt4, {3}, {1, -1, 7}).value();
  EXPECT_EQ(nibbles.data<uint8_t>()[0], 0xF1);
  EXPECT_EQ(nibbles.data<uint8_t>()[1] & 0xF, 0x7);
  const Tensor quarters = FromInts(DataType::kUint2, {4}, {0, 1, 2, 3}).value();
  EXPECT_EQ(quarters.data<uint8_t>()[0], 0b11100100);
}

TEST(ElementsTest, DoublesTruncateTowardsZero) {
  const Tensor tensor = FromDoubles(DataType::kInt32, {5}, {1.9, -1.9, -0.5, NAN, 2.5}).value();
  EXPECT_THAT(ToInts(tensor).value(), ElementsAre(1, -1, 0, 0, 2));
  const Tensor wide = FromDoubles(DataType::kUint64, {2}, {0x1p63, -1}).value();
  EXPECT_EQ(wide.data<uint64_t>()[0], uint64_t{1} << 63);
  EXPECT_EQ(wide.data<uint64_t>()[1], std::numeric_limits<uint64_t>::max());
  EXPECT_THAT(ToDoubles(wide).value(), ElementsAre(0x1p63, 0x1p64));
}

TEST(ElementsTest, BoolIsTrueForEveryNonzeroNumber) {
  const Tensor tensor = FromDoubles(DataType::kBool, {4}, {0, 0.1, -2, NAN}).value();
  EXPECT_THAT(ToInts(tensor).value(), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Wrapped(DataType::kBool, {256, 0, -1}), ElementsAre(1, 0, 1));
}

TEST(ElementsTest, FloatsRoundOnce) {
  // 1 + 2^-24 lies halfway between two floats and rounds to even, so a little more rounds up.
  const Tensor tensor =
      FromDoubles(DataType::kFloat, {2}, {1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-50}).value();
  EXPECT_THAT(ToDoubles(tensor).value(), ElementsAre(1, 1 + 0x1p-23));
  // By way of float this would first become 1 + 2^-11 and then 1.
  const Tensor half = FromDoubles(DataType::kFloat16, {1}, {1 + 0x1p-11 + 0x1p-40}).value();
  EXPECT_THAT(ToDoubles(half).value(), ElementsAre(1 + 0x1p-10));
}

TEST(ElementsTest, PackedFloatsAreReadBack) {
  const std::vector<double> values = {0.5, -6, 1.5, 0, 3};
  const Tensor tensor = FromDoubles(DataType::kFloat4E2M1, {5}, values).value();
  EXPECT_EQ(tensor.byte_size(), 3);
  EXPECT_THAT(ToDoubles(tensor).value(), ElementsAreArray(values));
}

TEST(ElementsTest, OtherElementTypesAreRefused) {
  const Tensor text = Tensor::Of<std::string>({1}, {"1"}).value();
  const Tensor real = Tensor::Of<float>({1}, {1}).value();
  EXPECT_EQ(ToDoubles(text).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ToInts(real).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ToStrings(real).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(FromDoubles(DataType::kString, {1}, {1}).ok());
  EXPECT_FALSE(FromInts(DataType::kComplex64, {1}, {1}).ok());
  EXPECT_FALSE(FromComplex(DataType::kFloat, {1}, {{1, 2}}).ok());
}

TEST(ElementsTest, CountsMustAgree) {
  EXPECT_FALSE(FromDoubles(DataType::kFloat, {2}, {1}).ok());
  EXPECT_FALSE(FromInts(DataType::kInt8, {}, {}).ok());
  EXPECT_FALSE(FromComplex(DataType::kComplex64, {1}, {}).ok());
}

TEST(ElementsTest, ComplexTakesRealNumbersToo) {
  const Tensor narrow = FromComplex(DataType::kComplex64, {1}, {{1, -2}}).value();
  EXPECT_THAT(ToComplex(narrow).value(), ElementsAre(std::complex<double>(1, -2)));
  EXPECT_THAT(ToComplex(FromInts(DataType::kInt8, {1}, {-3}).value()).value(),
              ElementsAre(std::complex<double>(-3, 0)));
}

}  // namespace
}  // namespace attnrun
