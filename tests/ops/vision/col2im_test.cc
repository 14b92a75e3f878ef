// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;
using ::testing::HasSubstr;

Tensor Vector(const Ints& values) {
  return Make<int64_t>({static_cast<int64_t>(values.size())}, values);
}

void ExpectResult(const OpTester& op, const Tensor& expected) {
  ExpectClose(op.Reference().value()[0], expected, 0);
}

std::string ErrorOf(const OpTester& op) { return std::string(op.Reference().status().message()); }

TEST(Col2ImTest, AddsOverlappingBlocks) {
  OpTester op("Col2Im", 18);
  op.Input(Make<float>({1, 2, 3}, {1, 2, 3, 10, 20, 30})).Input(Vector({4})).Input(Vector({2}));
  // Block i covers the elements i and i + 1.
  ExpectResult(op, Make<float>({1, 1, 4}, {1, 12, 23, 30}));
  OpTester wrong("Col2Im", 18);
  wrong.Input(Make<float>({1, 2, 2}, {1, 2, 3, 4})).Input(Vector({4})).Input(Vector({2}));
  EXPECT_THAT(ErrorOf(wrong), HasSubstr("expected x [N,C*2,3], but found float[1,2,2]"));
  OpTester huge("Col2Im", 18);
  huge.Input(Make<float>({1, 1, 1}, {1}));
  huge.Input(Vector({int64_t{1} << 40, int64_t{1} << 40})).Input(Vector({1, 1}));
  EXPECT_FALSE(huge.Reference().ok());
}

TEST(Col2ImTest, KeepsIntegersExact) {
  OpTester op("Col2Im", 18);
  op.Input(Make<uint8_t>({1, 2, 2}, {200, 1, 2, 100})).Input(Vector({3})).Input(Vector({2}));
  ExpectResult(op, Make<uint8_t>({1, 1, 3}, {200, 3, 100}));
}

// Images of one to three axes, padded, with steps and gaps, also where blocks lie in the padding.
TEST(Col2ImTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  struct Case {
    Ints image, block, strides, dilations, pads;
    int64_t positions;
  };
  const std::vector<Case> cases = {
      {{7}, {3}, {2}, {1}, {1, 1}, 4},
      {{6, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 54},
      {{6, 9}, {2, 3}, {2, 3}, {1, 1}, {0, 0, 0, 0}, 9},
      {{5, 8}, {3, 2}, {2, 2}, {2, 3}, {2, 1, 0, 2}, 8},
      {{3, 2}, {2, 2}, {3, 2}, {1, 1}, {3, 4, 3, 4}, 15},
      {{4, 3, 5}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 1, 0, 0, 1, 1}, 32},
  };
  for (const Case& c : cases) {
    int64_t taps = 1;
    for (const int64_t extent : c.block) taps *= extent;
    for (const DataType type : {DataType::kFloat, DataType::kFloat16}) {
      OpTester op("Col2Im", 18);
      op.Attribute("strides", c.strides).Attribute("dilations", c.dilations);
      op.Attribute("pads", c.pads);
      const Tensor x = RandomFloats({2, 3 * taps, c.positions}, generator);
      op.Input(FromDoubles(type, x.shape(), *ToDoubles(x)).value());
      op.Input(Vector(c.image)).Input(Vector(c.block));
      const double rounding = type == DataType::kFloat ? kEpsilon : 1.0 / 1024;
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                  4 * rounding * static_cast<double>(taps));
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
