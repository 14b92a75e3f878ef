// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/grouped_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/contrib.h"
#include "support/op_tester.h"

// GroupQueryAttention whose past is quantized. contrib_cases.txt has results of ONNX Runtime.
namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kEpsilon = 1e-6;

// A token behind one past token, one head of two channels: keys and values of the token are `k` and
// `v`, queries 0, so that both weigh the same.
OpTester Quantized(int64_t bits, const Tensor& past, const std::string& type, const Tensor& scale) {
  OpTester op("GroupQueryAttention", 1, kMicrosoft);
  op.Attribute("num_heads", int64_t{1}).Attribute("kv_num_heads", int64_t{1}).Outputs(3);
  op.Attribute("k_quant_type", type).Attribute("v_quant_type", type);
  op.Attribute("kv_cache_bit_width", bits);
  op.Input(Make<float>({1, 1, 2}, {0, 0})).Input(Make<float>({1, 1, 2}, {-100, 1.5F}));
  op.Input(Make<float>({1, 1, 2}, {1.3F, -7})).Input(past).Input(past);
  op.Input(Make<int32_t>({1}, {1})).Input(Make<int32_t>({}, {2}));
  for (int i = 0; i < 5; ++i) op.NoInput();
  return op.Input(scale).Input(scale);
}

TEST(GroupedCacheTest, HoldsIntegersOfEightBits) {
  const OpTester op =
      Quantized(8, Make<int8_t>({1, 1, 1, 2}, {4, -6}), "PER_TENSOR", Make<float>({1}, {0.5F}));
  // -100 / 0.5 is out of range, and 1.3 / 0.5 is rounded.
  ExpectClose(Reference(op, 1), Make<int8_t>({1, 1, 2, 2}, {4, -6, -128, 3}), 0);
  ExpectClose(Reference(op, 2), Make<int8_t>({1, 1, 2, 2}, {4, -6, 3, -14}), 0);
  // Attention sees the rounded values 1.5 and -7 behind 2 and -3.
  ExpectClose(Reference(op), Make<float>({1, 1, 2}, {1.75F, -5}), kEpsilon);
}

TEST(GroupedCacheTest, HoldsTwoIntegersInAByte) {
  const OpTester op = Quantized(4, Make<uint8_t>({1, 1, 1, 1}, {0x6c}), "PER_CHANNEL",
                                Make<float>({1, 1, 1, 2}, {0.5F, 2}));
  // -8 and 1 (from 1.5 / 2 = 0.75), with 8 added, are 0 and 9; 3 and -4 (from -3.5) are 11 and 4.
  ExpectClose(Reference(op, 1), Make<uint8_t>({1, 1, 2, 1}, {0x6c, 0x90}), 0);
  ExpectClose(Reference(op, 2), Make<uint8_t>({1, 1, 2, 1}, {0x6c, 0x4b}), 0);
  // Past values 4 * 0.5 and -2 * 2.
  ExpectClose(Reference(op), Make<float>({1, 1, 2}, {(2 + 1.5F) / 2, (-4 - 8) / 2.0F}), kEpsilon);
}

// The numbers of keys that both have differ, so weights do, too.
TEST(GroupedCacheTest, ScalesOfKeysReachTheScores) {
  OpTester op("GroupQueryAttention", 1, kMicrosoft);
  op.Attribute("num_heads", int64_t{2}).Attribute("kv_num_heads", int64_t{1});
  op.Attribute("k_quant_type", std::string("PER_CHANNEL")).Attribute("scale", 1.0F);
  op.Attribute("kv_cache_bit_width", int64_t{8});
  op.Input(Make<float>({1, 1, 4}, {1, 0, 0, 1})).Input(Make<float>({1, 1, 2}, {0, 0}));
  op.Input(Make<float>({1, 1, 2}, {0, 0})).Input(Make<int8_t>({1, 1, 1, 2}, {4, 3}));
  op.Input(Make<float>({1, 1, 1, 2}, {1, 1}));
  op.Input(Make<int32_t>({1}, {1})).Input(Make<int32_t>({}, {2}));
  for (int i = 0; i < 5; ++i) op.NoInput();
  op.Input(Make<float>({1, 1, 1, 2}, {0.25F, 1}));
  // Scores 1 and 3 beside 0; only keys are quantized.
  const float first = 1 / (1 + std::exp(-1.0F));
  const float second = 1 / (1 + std::exp(-3.0F));
  ExpectClose(Reference(op), Make<float>({1, 1, 4}, {first, first, second, second}), kEpsilon);
}

TEST(GroupedCacheTest, ErrorsSayWhatIsWrong) {
  const Tensor past = Make<int8_t>({1, 1, 1, 2}, {4, -6});
  const Tensor scale = Make<float>({1}, {0.5F});
  const auto error = [](const OpTester& op) {
    return std::string(op.Reference().status().message());
  };
  EXPECT_THAT(error(Quantized(0, past, "PER_TENSOR", scale)),
              HasSubstr("expected kv_cache_bit_width to be 4 or 8, but found 0"));
  EXPECT_THAT(error(Quantized(4, past, "PER_TENSOR", scale)),
              HasSubstr("expected the past uint8[1,1,_,1], but it is int8[1,1,1,2]"));
  EXPECT_THAT(error(Quantized(8, past, "NONE", scale)), HasSubstr("input 12, k_scale"));
  EXPECT_THAT(error(Quantized(8, past, "PER_TENSOR", Make<int8_t>({1}, {1}))),
              HasSubstr("expected k_scale to be float, but it is int8[1]"));
  EXPECT_THAT(error(Quantized(8, past, "PER_TENSOR", Make<float>({2}, {1, 2}))),
              HasSubstr("Reshape"));
}

}  // namespace
}  // namespace attnrun::testing
