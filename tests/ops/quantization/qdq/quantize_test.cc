// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using enum DataType;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor Ints(DataType type, const std::vector<int64_t>& shape,
            const std::vector<int64_t>& elements) {
  return FromInts(type, shape, elements).value();
}

int64_t Number(DataType type) { return static_cast<int64_t>(type); }

TEST(QuantizeLinearTest, RoundsHalvesToEvenAndSaturates) {
  const Tensor x = Make<float>({6}, {0, 2, 3, 1000, -254, NAN});
  OpTester unsigned_bytes("QuantizeLinear", 10);
  unsigned_bytes.Input(x).Input(Make<float>({}, {2})).Input(Ints(kUint8, {}, {128}));
  const Tensor expected = Ints(kUint8, {6}, {128, 129, 130, 255, 1, 0});
  ExpectClose(unsigned_bytes.Reference().value()[0], expected, 0);
  ExpectClose(unsigned_bytes.Kernel().value()[0], expected, 0);
  for (const auto& [type, numbers] : std::vector<std::pair<DataType, std::vector<int64_t>>>{
           {kInt16, {0, 1, 2, 500, -127, -32768}},
           {kUint4, {0, 1, 2, 15, 0, 0}},
           {kInt4, {0, 1, 2, 7, -8, -8}},
           {kInt2, {0, 1, 1, 1, -2, -2}}}) {
    OpTester op("QuantizeLinear", 25);
    op.Attribute("output_dtype", Number(type)).Input(x).Input(Make<float>({}, {2}));
    ExpectClose(op.Reference().value()[0], Ints(type, {6}, numbers), 0);
  }
}

TEST(QuantizeLinearTest, EightBitFloatsSaturateIfAsked) {
  for (const int64_t saturate : {0, 1}) {
    OpTester op("QuantizeLinear", 19);
    op.Attribute("saturate", saturate)
        .Input(Make<float>({2}, {200000, -2}))
        .Input(Make<float>({1}, {2}))
        .Input(FromDoubles(kFloat8E5M2, {1}, {0}).value());
    const std::vector<double> y = ToDoubles(op.Reference().value()[0]).value();
    EXPECT_EQ(y[0], saturate != 0 ? 57344 : kInf);
    EXPECT_EQ(y[1], -1);
  }
}

TEST(QuantizeLinearTest, DividesInTheRequestedPrecision) {
  const Tensor x = Make<float>({1}, {2.5F * 1.001F});
  const Tensor scale = Make<float>({}, {1});
  OpTester in_float("QuantizeLinear", 23);
  in_float.Input(x).Input(scale);
  ExpectClose(in_float.Reference().value()[0], Ints(kUint8, {1}, {3}), 0);
  OpTester in_half("QuantizeLinear", 23);
  // 2.5025 rounds to 2.5 in bfloat16, a tie that goes to 2.
  in_half.Attribute("precision", Number(kBfloat16)).Input(x).Input(scale);
  ExpectClose(in_half.Reference().value()[0], Ints(kUint8, {1}, {2}), 0);
}

struct Layout {
  std::vector<int64_t> x;
  std::vector<int64_t> scale;
  int64_t axis;
  int64_t block_size;
};

const std::vector<Layout>& Layouts() {
  static const auto* const layouts = new std::vector<Layout>{
      {{3, 5, 7}, {}, 1, 0},     {{3, 5, 7}, {5}, 1, 0},
      {{3, 5, 7}, {7}, -1, 0},   {{3, 5, 7}, {3}, 0, 0},
      {{9}, {9}, 1, 0},          {{6, 4}, {3, 4}, 0, 2},
      {{4, 64}, {4, 2}, 1, 32},  {{2, 12, 5}, {2, 3, 5}, 1, 4},
      {{300, 400}, {400}, 1, 0}, {{0, 4}, {4}, 1, 0},
  };
  return *layouts;
}

Tensor Scales(const std::vector<int64_t>& shape, std::mt19937& generator) {
  Tensor scale = RandomFloats(shape, generator, 0.1F);
  for (int64_t i = 0; i < scale.num_elements(); ++i) {
    scale.mutable_data<float>()[i] = 0.01F + std::fabs(scale.data<float>()[i]);
  }
  return scale;
}

TEST(QuantizeLinearTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const Layout& layout : Layouts()) {
    for (const DataType type : {kUint8, kInt8}) {
      SCOPED_TRACE(absl::StrCat(Name(type), " axis ", layout.axis, " block ", layout.block_size));
      OpTester op("QuantizeLinear", 21);
      op.Attribute("axis", layout.axis)
          .Attribute("block_size", layout.block_size)
          .Input(RandomFloats(layout.x, generator, 5))
          .Input(Scales(layout.scale, generator))
          .Input(RandomInts(type, layout.scale, generator, 0, 100));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 0);
    }
  }
}

TEST(DequantizeLinearTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const Layout& layout : Layouts()) {
    for (const DataType type : {kUint8, kInt8, kInt32, kInt4, kUint4, kInt2, kUint2}) {
      for (const DataType scale : {kFloat, kFloat16}) {
        SCOPED_TRACE(absl::StrCat(Name(type), " axis ", layout.axis, " block ", layout.block_size));
        const int64_t low = IsSignedInteger(type) ? -2 : 0;
        OpTester op("DequantizeLinear", 25);
        op.Attribute("axis", layout.axis)
            .Attribute("block_size", layout.block_size)
            .Input(RandomInts(type, layout.x, generator, low, low + 3))
            .Input(Converted(Scales(layout.scale, generator), scale))
            .Input(RandomInts(type, layout.scale, generator, low, low + 3));
        // One multiplication.
        ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], Epsilon(scale));
      }
    }
  }
}

// Only the reference has a shorter last block and these types.
TEST(DequantizeLinearTest, AcceptsUnevenBlocksAndOtherTypes) {
  OpTester uneven("DequantizeLinear", 21);
  uneven.Attribute("axis", int64_t{0})
      .Attribute("block_size", int64_t{2})
      .Input(Ints(kInt8, {3}, {1, 2, 3}))
      .Input(Make<float>({2}, {10, 100}));
  ExpectClose(uneven.Reference().value()[0], Make<float>({3}, {10, 20, 300}), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(uneven.Kernel().status()));
  OpTester to_half("DequantizeLinear", 23);
  to_half.Attribute("output_dtype", Number(kFloat16))
      .Input(FromDoubles(kFloat4E2M1, {3}, {6, -0.5, 1.5}).value())
      .Input(Make<float>({}, {2}));
  ExpectClose(to_half.Reference().value()[0], Converted(Make<float>({3}, {12, -1, 3}), kFloat16),
              0);
}

// Covers every number of elements that a vector may leave over, and NaN and infinities.
TEST(QuantizeTest, KernelsAgreeOnOneScaleForAllElements) {
  for (const DataType type : {kUint8, kInt8, kUint16, kInt16}) {
    for (int64_t n = 1; n < 150; n += n < 70 ? 1 : 13) {
      std::mt19937 generator(Seed());
      Tensor x = RandomFloats({n}, generator, 200);
      x.mutable_data<float>()[0] = NAN;
      if (n > 33) x.mutable_data<float>()[33] = kInf;
      if (n > 65) x.mutable_data<float>()[65] = -1e30F;
      const Tensor scale = Make<float>({}, {0.7F});
      const Tensor zero = Ints(type, {}, {n % 100});
      OpTester quantize("QuantizeLinear", 21);
      quantize.Input(x).Input(scale).Input(zero);
      const Tensor q = quantize.Reference().value()[0];
      ExpectClose(quantize.Kernel().value()[0], q, 0);
      OpTester dequantize("DequantizeLinear", 21);
      dequantize.Input(q).Input(scale).Input(zero);
      ExpectClose(dequantize.Kernel().value()[0], dequantize.Reference().value()[0], kEpsilon);
    }
  }
}

TEST(DynamicQuantizeLinearTest, FitsTheRangeOfXAndZero) {
  std::mt19937 generator(Seed());
  // The range -3 to 2 gives the scale 5 / 255 and the zero point 153.
  OpTester op("DynamicQuantizeLinear", 11);
  op.Input(Make<float>({6}, {0, 2, -3, -2.5F, 1.34F, 0.5F})).Outputs(3);
  const std::vector<Tensor> y = op.Reference().value();
  ExpectClose(y[0], Ints(kUint8, {6}, {153, 255, 0, 26, 221, 179}), 0);
  ExpectClose(y[1], Make<float>({}, {5.0F / 255}), 0);
  ExpectClose(y[2], Ints(kUint8, {}, {153}), 0);
  for (const Tensor& x :
       {RandomFloats({3, 41}, generator), RandomFloats({200000}, generator, 9),
        Make<float>({2}, {3, 4}), Make<float>({2}, {-3, -4}), Make<float>({2}, {0, 0}),
        Make<float>({3}, {NAN, 1, kInf}), Make<float>({0}, {})}) {
    OpTester both("DynamicQuantizeLinear", 11);
    both.Input(x).Outputs(3);
    const std::vector<Tensor> expected = both.Reference().value();
    const std::vector<Tensor> actual = both.Kernel().value();
    for (int i = 0; i < 3; ++i) ExpectClose(actual[i], expected[i], 0);
  }
}

TEST(QuantizeTest, ErrorsSayWhatIsWrong) {
  const Tensor x = Make<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor bytes = Ints(kInt8, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor one = Make<float>({}, {1});
  const Tensor two = Make<float>({2}, {1, 1});
  const std::pair<OpTester, const char*> cases[] = {
      {OpTester("QuantizeLinear", 21).Input(bytes).Input(one), "input 0 must be one of"},
      {OpTester("QuantizeLinear", 21).Input(x).Input(bytes), "input 1 must be one of"},
      {OpTester("QuantizeLinear", 21).Input(x).Input(two),
       "the scale of float[2,3] must be one number or [3], but is float[2]"},
      {OpTester("QuantizeLinear", 21).Attribute("axis", int64_t{2}).Input(x).Input(two),
       "axis 2 is outside"},
      {OpTester("QuantizeLinear", 21).Attribute("block_size", int64_t{-1}).Input(x).Input(two),
       "block_size must not be negative"},
      {OpTester("QuantizeLinear", 21).Attribute("block_size", int64_t{2}).Input(x).Input(two),
       "must be [2,2], but is float[2]"},
      {OpTester("QuantizeLinear", 21).Input(x).Input(one).Input(Ints(kUint8, {2}, {1, 2})),
       "must be of one shape"},
      {OpTester("QuantizeLinear", 21).Input(x).Input(one).Input(one), "input 2 must be one of"},
      {OpTester("QuantizeLinear", 21)
           .Attribute("output_dtype", Number(kInt8))
           .Input(x)
           .Input(one)
           .Input(Ints(kUint8, {}, {1})),
       "output_dtype is int8, but the zero point is uint8"},
      {OpTester("QuantizeLinear", 21)
           .Attribute("output_dtype", int64_t{1} << 40)
           .Input(x)
           .Input(one),
       "attribute 'output_dtype' must be one of"},
      {OpTester("QuantizeLinear", 23).Attribute("precision", int64_t{8}).Input(x).Input(one),
       "attribute 'precision' must be one of"},
      {OpTester("DequantizeLinear", 21).Input(x).Input(one), "input 0 must be one of"},
      {OpTester("DequantizeLinear", 21).Input(bytes).Input(one).Input(Ints(kUint8, {}, {1})),
       "must be of one type"},
      {OpTester("DynamicQuantizeLinear", 11).Outputs(3).Input(bytes), "input 0 must be one of"},
  };
  for (const auto& [op, message] : cases) {
    const absl::Status status = op.Reference().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_FALSE(op.Kernel().ok());
  }
}

}  // namespace
}  // namespace attnrun::testing
