// SPDX-License-Identifier: Apache-2.0
#include "core/minifloat.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"

namespace attnrun {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The signed types of at most 16 bits.
const std::vector<DataType>& SignedTypes() {
  static const auto* const types = new std::vector<DataType>{
      DataType::kFloat16,    DataType::kBfloat16,       DataType::kFloat8E4M3FN,
      DataType::kFloat8E5M2, DataType::kFloat8E4M3FNUZ, DataType::kFloat8E5M2FNUZ,
      DataType::kFloat4E2M1};
  return *types;
}

uint32_t NumPatterns(DataType type) { return 1U << BitWidth(type); }

// The finite non-negative values in ascending order, each with its bit pattern.
std::map<double, uint16_t> Magnitudes(DataType type) {
  std::map<double, uint16_t> values;
  for (uint32_t bits = 0; bits < NumPatterns(type) / 2; ++bits) {
    const double value = DecodeFloat(type, static_cast<uint16_t>(bits));
    if (std::isfinite(value)) values.emplace(value, bits);
  }
  return values;
}

TEST(MinifloatTest, Float16AgreesWithTheCompilersType) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto expected = static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
    const double value = DecodeFloat(DataType::kFloat16, static_cast<uint16_t>(bits));
    ASSERT_EQ(std::isnan(value), std::isnan(expected)) << bits;
    if (std::isnan(expected)) continue;
    ASSERT_EQ(value, expected) << bits;
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
  }
}

TEST(MinifloatTest, Bfloat16IsTheUpperHalfOfAFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto expected = static_cast<double>(std::bit_cast<float>(bits << 16));
    const double value = DecodeFloat(DataType::kBfloat16, static_cast<uint16_t>(bits));
    ASSERT_EQ(std::isnan(value), std::isnan(expected)) << bits;
    if (std::isnan(expected)) continue;
    ASSERT_EQ(value, expected) << bits;
  }
}

TEST(MinifloatTest, EveryPatternSurvivesARoundTrip) {
  for (const DataType type : SignedTypes()) {
    for (uint32_t bits = 0; bits < NumPatterns(type); ++bits) {
      const double value = DecodeFloat(type, static_cast<uint16_t>(bits));
      // Saturation would turn infinities into the largest finite value, as ONNX's Cast does.
      const uint16_t again = EncodeFloat(type, value, false);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(DecodeFloat(type, again))) << Name(type) << " " << bits;
      } else {
        ASSERT_EQ(again, bits) << Name(type) << " of " << value;
      }
    }
  }
}

// From ONNX "Float stored in 8 bits" and OCP MX v1.0: the largest, the smallest normal and the
// smallest subnormal number.
TEST(MinifloatTest, LimitsFollowTheSpecifications) {
  struct Limits {
    DataType type;
    double largest, smallest;
  };
  const std::vector<Limits> all = {
      {DataType::kFloat16, 65504, 0x1p-24},    {DataType::kBfloat16, 0x1.FEp127, 0x1p-133},
      {DataType::kFloat8E4M3FN, 448, 0x1p-9},  {DataType::kFloat8E4M3FNUZ, 240, 0x1p-10},
      {DataType::kFloat8E5M2, 57344, 0x1p-16}, {DataType::kFloat8E5M2FNUZ, 57344, 0x1p-17},
      {DataType::kFloat4E2M1, 6, 0.5}};
  for (const Limits& limits : all) {
    const std::map<double, uint16_t> values = Magnitudes(limits.type);
    EXPECT_EQ(values.rbegin()->first, limits.largest) << Name(limits.type);
    EXPECT_EQ(std::next(values.begin())->first, limits.smallest) << Name(limits.type);
  }
}

TEST(MinifloatTest, RoundsToNearestWithTiesToEven) {
  for (const DataType type : SignedTypes()) {
    const std::map<double, uint16_t> values = Magnitudes(type);
    for (auto low = values.begin(); std::next(low) != values.end(); ++low) {
      const auto high = std::next(low);
      const double middle = (low->first + high->first) / 2;  // exact, since double is far wider
      const uint16_t even = low->second % 2 == 0 ? low->second : high->second;
      ASSERT_EQ(EncodeFloat(type, middle), even) << Name(type) << " " << middle;
      ASSERT_EQ(EncodeFloat(type, std::nextafter(middle, 0)), low->second) << Name(type);
      ASSERT_EQ(EncodeFloat(type, std::nextafter(middle, kInfinity)), high->second) << Name(type);
    }
  }
}

TEST(MinifloatTest, NegativeValuesRoundLikeTheirMagnitudes) {
  for (const DataType type : SignedTypes()) {
    const bool has_negative_zero =
        type != DataType::kFloat8E4M3FNUZ && type != DataType::kFloat8E5M2FNUZ;
    double value = 0x1p-140;
    while (value < 1e6) {
      const double positive = DecodeFloat(type, EncodeFloat(type, value));
      const double negative = DecodeFloat(type, EncodeFloat(type, -value));
      ASSERT_EQ(negative, -positive) << Name(type) << " " << value;
      ASSERT_EQ(std::signbit(negative), positive != 0 || has_negative_zero) << Name(type);
      value *= 1.37;
    }
  }
}

TEST(MinifloatTest, OverflowSaturatesOnlyIfAsked) {
  struct Row {
    DataType type;
    double value;
    double saturated, plain;
  };
  const std::vector<Row> rows = {
      {DataType::kFloat16, 65519, 65504, 65504},
      {DataType::kFloat16, 65520, kInfinity, kInfinity},
      {DataType::kBfloat16, 1e39, kInfinity, kInfinity},
      {DataType::kFloat8E4M3FN, 464, 448, 448},  // halfway to 480; 448 is even
      {DataType::kFloat8E4M3FN, 465, 448, kNan},
      {DataType::kFloat8E4M3FN, -kInfinity, -448, kNan},
      {DataType::kFloat8E4M3FNUZ, 1000, 240, kNan},
      {DataType::kFloat8E4M3FNUZ, -kInfinity, -240, kNan},
      {DataType::kFloat8E5M2, 61439, 57344, 57344},
      {DataType::kFloat8E5M2, 61440, 57344, kInfinity},
      {DataType::kFloat8E5M2, -kInfinity, -57344, -kInfinity},
      {DataType::kFloat8E5M2FNUZ, 1e9, 57344, kNan},
      {DataType::kFloat4E2M1, 1e9, 6, 6},
      {DataType::kFloat4E2M1, -kInfinity, -6, -6},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(absl::StrCat(Name(row.type), " ", row.value));
    EXPECT_EQ(DecodeFloat(row.type, EncodeFloat(row.type, row.value)), row.saturated);
    const double plain = DecodeFloat(row.type, EncodeFloat(row.type, row.value, false));
    EXPECT_TRUE(plain == row.plain || (std::isnan(plain) && std::isnan(row.plain))) << plain;
  }
}

TEST(MinifloatTest, NanStaysNan) {
  for (const DataType type : SignedTypes()) {
    if (type == DataType::kFloat4E2M1) continue;  // this type has no NaN
    EXPECT_TRUE(std::isnan(DecodeFloat(type, EncodeFloat(type, kNan)))) << Name(type);
    EXPECT_TRUE(std::isnan(DecodeFloat(type, EncodeFloat(type, -kNan)))) << Name(type);
  }
}

TEST(MinifloatTest, E8M0IsAPowerOfTwoRoundedUp) {
  constexpr DataType kType = DataType::kFloat8E8M0;
  for (int bits = 0; bits < 255; ++bits) {
    const double value = DecodeFloat(kType, static_cast<uint16_t>(bits));
    ASSERT_EQ(value, std::ldexp(1.0, bits - 127));
    ASSERT_EQ(EncodeFloat(kType, value), bits);
    ASSERT_EQ(EncodeFloat(kType, value * 1.001), bits + (bits < 254)) << "saturates at 2^127";
  }
  EXPECT_TRUE(std::isnan(DecodeFloat(kType, 0xFF)));
  EXPECT_EQ(EncodeFloat(kType, kNan), 0xFF);
  EXPECT_EQ(EncodeFloat(kType, 0), 0);
  EXPECT_EQ(EncodeFloat(kType, 1e300, false), 0xFF);
}

}  // namespace
}  // namespace attnrun
