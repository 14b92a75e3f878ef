// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/quantized_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

OpTester Quantize(const Tensor& x) { return OpTester("QuantizeRows", 1, "attnrun").Input(x); }
OpTester Dequantize(const Tensor& x) { return OpTester("DequantizeRows", 1, "attnrun").Input(x); }

TEST(QuantizedRowsTest, ARowIsNumbersAndAScale) {
  const Tensor x = Make<float>({2, 3}, {127, -63.5F, 0.5F, 0, 0, 0});
  for (const auto& rows : {Quantize(x).Reference(), Quantize(x).Kernel()}) {
    ASSERT_TRUE(rows.ok()) << rows.status();
    const Tensor& y = (*rows)[0];
    ASSERT_EQ(TypeAndShape(y), "int8[2,7]");
    const auto* bytes = y.data<int8_t>();
    // Ties go to even numbers.
    EXPECT_THAT(std::vector<int>(bytes, bytes + 3), ::testing::ElementsAre(127, -64, 0));
    float scale;
    std::memcpy(&scale, bytes + 3, sizeof(scale));
    EXPECT_EQ(scale, 1);
    EXPECT_TRUE(std::all_of(bytes + 7, bytes + 14, [](int8_t byte) { return byte == 0; }));
  }
}

TEST(QuantizedRowsTest, KernelsGiveTheBytesOfTheReference) {
  std::mt19937 generator(Seed());
  for (const int64_t size : {1, 3, 8, 31, 64, 100}) {
    Tensor x = RandomFloats({3, 17, size}, generator);
    // Magnitudes of all sizes, down to those that have no scale.
    auto* elements = x.mutable_data<float>();
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      elements[i] = std::ldexp(elements[i], static_cast<int>(i / size % 17) * 16 - 150);
    }
    const Tensor rows = Quantize(x).Reference().value()[0];
    ExpectClose(Quantize(x).Kernel().value()[0], rows, 0);
    const Tensor back = Dequantize(rows).Reference().value()[0];
    ExpectClose(Dequantize(rows).Kernel().value()[0], back, 0);
    for (int64_t row = 0; row < 3 * 17; ++row) {
      const float* from = x.data<float>() + row * size;
      const float* to = back.data<float>() + row * size;
      float largest = 0;
      for (int64_t i = 0; i < size; ++i) largest = std::max(largest, std::fabs(from[i]));
      // Half a step; the rounding of scale, quotient and product; the least number there is.
      const float most = largest / 127 * 0.5F * (1 + 512 * std::numeric_limits<float>::epsilon()) +
                         128 * std::numeric_limits<float>::denorm_min();
      for (int64_t i = 0; i < size; ++i) EXPECT_LE(std::fabs(from[i] - to[i]), most);
    }
  }
}

TEST(QuantizedRowsTest, ANumberThatIsNotFiniteSpoilsItsRowAlone) {
  for (const float odd : {NAN, kInf, -kInf}) {
    std::vector<float> elements(3 * 20, 0.5F);
    elements[20 + 17] = odd;
    const Tensor x = Make<float>({3, 20}, elements);
    for (const auto& rows : {Quantize(x).Reference(), Quantize(x).Kernel()}) {
      const Tensor back = Dequantize(rows.value()[0]).Kernel().value()[0];
      for (int64_t i = 0; i < 60; ++i) {
        EXPECT_EQ(std::isnan(back.data<float>()[i]), i / 20 == 1) << i;
      }
    }
  }
}

TEST(QuantizedRowsTest, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(Quantize(Make<int8_t>({2}, {1, 2})).Reference().status().message(),
              HasSubstr("expected x to be float [..., H], but it is int8[2]"));
  EXPECT_THAT(Quantize(Make<float>({}, {1})).Reference().status().message(),
              HasSubstr("but it is float[]"));
  EXPECT_THAT(Dequantize(Make<int8_t>({1, 3}, {1, 2, 3})).Reference().status().message(),
              HasSubstr("expected x to be int8 [..., H + 4], but it is int8[1,3]"));
}

// Attention reads rows of bytes as it would read their floats.
TEST(QuantizedRowsTest, AttentionReadsThem) {
  std::mt19937 generator(Seed());
  for (const int64_t queries : {1, 30}) {
    const Tensor q = RandomFloats({2, 4, queries, 16}, generator);
    const Tensor k = Quantize(RandomFloats({2, 2, 130, 16}, generator)).Kernel().value()[0];
    const Tensor v = Quantize(RandomFloats({2, 2, 130, 32}, generator)).Kernel().value()[0];
    const auto attention = [&](const Tensor& key, const Tensor& value) {
      OpTester op("Attention", 1, "attnrun");
      return op.Input(q).Input(key).Input(value).Attribute("causal", int64_t{2});
    };
    const Tensor floats_of_k = Dequantize(k).Reference().value()[0];
    const Tensor floats_of_v = Dequantize(v).Reference().value()[0];
    const Tensor expected = attention(floats_of_k, floats_of_v).Kernel().value()[0];
    ExpectClose(attention(k, v).Kernel().value()[0], expected, 0);
    // One of both alone.
    ExpectClose(attention(floats_of_k, v).Kernel().value()[0], expected, 0);
    ExpectClose(attention(k, floats_of_v).Kernel().value()[0], expected, 0);
    ExpectClose(attention(k, v).Reference().value()[0],
                attention(floats_of_k, floats_of_v).Reference().value()[0], 0);
  }
}

// Rows of integers, of 8 bits or two in a byte.
TEST(QuantizedRowsTest, AttentionReadsIntegers) {
  std::mt19937 generator(Seed());
  std::uniform_int_distribution<int> byte(0, 255);
  for (const bool pairs : {false, true}) {
    // Values of 6 and 46 channels end amid vectors.
    for (const int64_t channels : {6, 32, 46}) {
      const Tensor q = RandomFloats({2, 4, 3, channels}, generator);
      std::vector<uint8_t> bytes(2 * 2 * 70 * channels / (pairs ? 2 : 1));
      std::vector<float> floats;
      for (uint8_t& element : bytes) {
        element = static_cast<uint8_t>(byte(generator));
        if (pairs) floats.insert(floats.end(), {element % 16 - 8.0F, element / 16 - 8.0F});
        if (!pairs) floats.push_back(static_cast<int8_t>(element));
      }
      Tensor rows = *Tensor::Allocate(pairs ? DataType::kUint8 : DataType::kInt8,
                                      {2, 2, 70, pairs ? channels / 2 : channels});
      std::memcpy(rows.mutable_raw(), bytes.data(), bytes.size());
      const Tensor wide = Make<float>({2, 2, 70, channels}, floats);
      const auto attention = [&](const Tensor& k, const Tensor& v) {
        OpTester op("Attention", 1, "attnrun");
        op.Input(q).Input(k).Input(v).Attribute("scale", 0.01F);
        return op.Attribute("scaled_rows", int64_t{0});
      };
      const Tensor expected = attention(wide, wide).Kernel().value()[0];
      ExpectClose(attention(rows, rows).Kernel().value()[0], expected, 0);
      ExpectClose(attention(wide, rows).Kernel().value()[0], expected, 0);
      ExpectClose(attention(rows, rows).Reference().value()[0],
                  attention(wide, wide).Reference().value()[0], 0);
    }
  }
}

// The layout is that of the floats, so heads may share a row.
TEST(QuantizedRowsTest, PairsMayLieInRowsOfAllHeads) {
  const auto attention = [](const Tensor& k) {
    OpTester op("Attention", 1, "attnrun");
    op.Input(Make<float>({1, 1, 2, 2}, {1, 2, 3, 4})).Input(k).Input(k);
    for (const char* layout : {"k_layout", "v_layout"}) {
      op.Attribute(layout, std::string("b s (n:2 h)"));
    }
    return op.Attribute("q_layout", std::string("b s n h")).Attribute("scale", 0.1F);
  };
  const Tensor k = Make<uint8_t>({1, 2, 2}, {0x12, 0x34, 0xab, 0xcd});
  const Tensor floats = Make<float>({1, 2, 4}, {-6, -7, -4, -5, 3, 2, 5, 4});
  const Tensor expected = attention(floats).Reference().value()[0];
  ExpectClose(attention(k).Reference().value()[0], expected, 0);
  ExpectClose(attention(k).Kernel().value()[0], expected, 1e-6);
}

// Tensors without elements may have rows of any length.
TEST(QuantizedRowsTest, PairsMayNotBeMoreThanCanBeCounted) {
  const Tensor k = *Tensor::Allocate(DataType::kUint8, {0, 1, 1, INT64_MAX});
  const Tensor q = *Tensor::Allocate(DataType::kFloat, {0, 1, 1, 2});
  const OpTester op = OpTester("Attention", 1, "attnrun").Input(q).Input(k).Input(k);
  for (const auto& refused : {op.Kernel(), op.Reference()}) {
    EXPECT_THAT(refused.status().message(), HasSubstr("expected rows, but found uint8[0,1,1,"));
  }
}

TEST(QuantizedRowsTest, AttentionRefusesBytesThatAreNoRows) {
  const Tensor q = Make<float>({1, 1, 1, 2}, {1, 2});
  const Tensor k = Make<int8_t>({1, 1, 1, 3}, {1, 2, 3});
  const auto refused = OpTester("Attention", 1, "attnrun").Input(q).Input(k).Input(k).Kernel();
  EXPECT_THAT(refused.status().message(),
              HasSubstr("expected x to be int8 [..., H + 4], but it is int8[1,1,1,3]"));
}

}  // namespace
}  // namespace attnrun::testing
