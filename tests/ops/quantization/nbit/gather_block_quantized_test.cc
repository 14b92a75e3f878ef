// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using enum DataType;
using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

OpTester Node(int64_t gather, int64_t quantize, int64_t block, int64_t bits) {
  OpTester op("GatherBlockQuantized", 1, "com.microsoft");
  op.Attribute("gather_axis", gather).Attribute("quantize_axis", quantize);
  op.Attribute("block_size", block).Attribute("bits", bits);
  return op;
}

Tensor Ints(DataType type, const Dims& shape, const std::vector<int64_t>& elements) {
  return FromInts(type, shape, elements).value();
}

void ExpectBoth(const OpTester& op, const Tensor& expected) {
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectClose(op.Kernel().value()[0], expected, 0);
}

TEST(GatherBlockQuantizedTest, SignedAndUnsignedCodes) {
  // Rows of 18 codes: a block of 16 and a block of 2. A code is its position modulo 7, plus 1 in
  // row 1.
  std::vector<int64_t> codes;
  for (int i = 0; i < 36; ++i) codes.push_back(i / 18 + i % 18 % 7);
  codes[17] = -8;
  const Tensor scales = Make<float>({2, 2}, {1, 10, 100, 1000});
  std::vector<float> expected;
  for (int i = 18; i < 36; ++i) {
    expected.push_back(static_cast<float>(codes[i]) * (i - 18 < 16 ? 100 : 1000));
  }
  for (int i = 0; i < 18; ++i) expected.push_back(static_cast<float>(codes[i]) * (i < 16 ? 1 : 10));
  OpTester op = Node(0, 1, 16, 4);
  op.Constant(Ints(kInt4, {2, 18}, codes)).Input(Make<int64_t>({1, 2}, {1, -2})).Constant(scales);
  ExpectBoth(op, Make<float>({1, 2, 18}, expected));

  codes[17] = 15;
  OpTester points = Node(0, -1, 16, 4);
  points.Constant(Ints(kUint4, {2, 18}, codes)).Input(Make<int32_t>({}, {0})).Constant(scales);
  points.Constant(Ints(kUint4, {2, 2}, {3, 5, 0, 0}));
  expected.clear();
  for (int i = 0; i < 18; ++i) {
    expected.push_back(static_cast<float>(codes[i] - (i < 16 ? 3 : 5)) * (i < 16 ? 1 : 10));
  }
  ExpectBoth(points, Make<float>({18}, expected));
}

TEST(GatherBlockQuantizedTest, IndicesOutOfRangeGiveZeros) {
  OpTester op = Node(0, 1, 16, 8);
  op.Constant(Make<uint8_t>({1, 2}, {130, 128})).Input(Make<int64_t>({4}, {1, 0, -2, INT64_MIN}));
  op.Constant(Make<float>({1, 1}, {3}));
  ExpectBoth(op, Make<float>({4, 2}, {0, 0, 6, 0, 0, 0, 0, 0}));
}

TEST(GatherBlockQuantizedTest, PackedBytesHaveTheirOwnZeroPoint) {
  for (const int64_t bits : {2, 4, 8}) {
    std::mt19937 generator(Seed());
    const int64_t per_byte = 8 / bits;
    const Tensor data = RandomInts(kUint8, {3, 48 / per_byte}, generator, 0, 255);
    const Tensor scales = RandomFloats({3, 3}, generator);
    const Tensor zeros = RandomInts(kUint8, {3, (3 * bits + 7) / 8}, generator, 0, 255);
    for (const bool with_zeros : {false, true}) {
      std::vector<float> expected;
      const auto code = [&](const Tensor& bytes, int64_t row, int64_t i) {
        const int64_t bit = i * bits;
        return bytes.data<uint8_t>()[row * bytes.dim(1) + bit / 8] >> bit % 8 & ((1 << bits) - 1);
      };
      for (const int64_t row : {2, 0}) {
        for (int64_t i = 0; i < 48; ++i) {
          const int zero = with_zeros ? code(zeros, row, i / 16) : 1 << (bits - 1);
          expected.push_back(static_cast<float>(code(data, row, i) - zero) *
                             scales.data<float>()[row * 3 + i / 16]);
        }
      }
      OpTester op = Node(0, 1, 16, bits);
      op.Constant(data).Input(Make<int64_t>({2}, {2, 0})).Constant(scales);
      if (with_zeros) op.Constant(zeros);
      ExpectBoth(op, Make<float>({2, 48}, expected));
    }
  }
}

TEST(GatherBlockQuantizedTest, GathersAlongOtherAxes) {
  // Blocks along axis 0, gathered along axis 1. The 4-bit code [i, j] is i % 5 + j.
  std::vector<int64_t> codes;
  for (int i = 0; i < 40; ++i) codes.push_back(i / 2 % 5 + i % 2);
  OpTester op = Node(1, 0, 16, 4);
  op.Constant(Ints(kUint4, {20, 2}, codes)).Input(Make<int64_t>({1}, {1}));
  op.Constant(Make<float>({2, 2}, {1, 2, 3, 4}));
  std::vector<float> expected;
  for (int i = 0; i < 20; ++i) {
    expected.push_back(static_cast<float>(i % 5 + 1) * (i < 16 ? 2 : 4));
  }
  ExpectClose(op.Reference().value()[0], Make<float>({20, 1}, expected), 0);
}

TEST(GatherBlockQuantizedTest, RefusesInvalidOperands) {
  const auto message = [](int64_t gather, int64_t quantize, int64_t block, int64_t bits,
                          const Tensor& data, const Dims& scales) {
    std::mt19937 generator(Seed());
    OpTester op = Node(gather, quantize, block, bits);
    op.Constant(data).Input(Make<int64_t>({1}, {0})).Constant(RandomFloats(scales, generator));
    return std::string(op.Reference().status().message());
  };
  const Tensor bytes = Make<uint8_t>({1, 8}, std::vector<uint8_t>(8));
  EXPECT_THAT(message(0, 1, 0, 4, bytes, {1, 1}), HasSubstr("expected block_size"));
  EXPECT_THAT(message(0, 1, 16, 5, bytes, {1, 1}), HasSubstr("expected bits to be 2, 4 or 8"));
  EXPECT_THAT(message(0, 2, 16, 4, bytes, {1, 1}), HasSubstr("quantize_axis is 2"));
  EXPECT_THAT(message(1, 0, 16, 4, bytes, {1, 1}), HasSubstr("expected gather_axis 0"));
  EXPECT_THAT(message(0, 1, 16, 4, bytes, {1, 2}), HasSubstr("expected scales [1,1]"));
  EXPECT_THAT(message(0, 1, 16, 4, Make<float>({1, 1}, {1}), {1, 1}),
              HasSubstr("expected data of int4, uint4 or uint8"));
  // Two codes per byte: twice as many elements as 64 bits can count, although another axis is
  // empty.
  EXPECT_THAT(message(0, 2, 16, 4, Make<uint8_t>({0, 4, int64_t{1} << 60}, {}), {1}),
              HasSubstr("[0,4,2305843009213693952] has more elements than 64 bits can count"));
}

}  // namespace
}  // namespace attnrun::testing
