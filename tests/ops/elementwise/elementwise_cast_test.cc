// SPDX-License-Identifier: Apache-2.0
// Cast and CastLike: the reference against values computed by hand, the kernels against the
// reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using enum DataType;
using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();

OpTester CastTo(DataType to, int opset = 28) {
  OpTester op("Cast", opset);
  op.Attribute("to", static_cast<int64_t>(to));
  return op;
}

Tensor Reference(const OpTester& op) { return op.Reference().value()[0]; }

TEST(CastTest, NumbersAreConvertedBetweenTypes) {
  const Tensor floats = Make<float>({4}, {-1.9F, 0, 2.5F, NAN});
  ExpectClose(Reference(CastTo(kInt64).Input(floats)), Make<int64_t>({4}, {-1, 0, 2, 0}), 0);
  ExpectClose(Reference(CastTo(kBool).Input(floats)), MakeBool({4}, {1, 0, 1, 1}), 0);
  const Tensor integers = Make<int16_t>({3}, {200, -1, 256});
  ExpectClose(Reference(CastTo(kInt8).Input(integers)), Make<int8_t>({3}, {-56, -1, 0}), 0);
  ExpectClose(Reference(CastTo(kUint32).Input(integers)),
              Make<uint32_t>({3}, {200, 4294967295U, 256}), 0);
  ExpectClose(Reference(CastTo(kFloat).Input(Make<uint64_t>({1}, {~uint64_t{0}}))),
              Make<float>({1}, {0x1p64F}), 0);
  // 2^60 + 2^36 + 1 lies just above the middle between two floats; a conversion by way of double
  // would round to the middle first.
  const int64_t above = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  ExpectClose(Reference(CastTo(kFloat).Input(Make<int64_t>({2}, {above, -above}))),
              Make<float>({2}, {0x1.000002p60F, -0x1.000002p60F}), 0);
}

std::vector<int64_t> Bits(const Tensor& tensor) {
  const auto* bytes = tensor.data<uint8_t>();
  return {bytes, bytes + tensor.byte_size()};
}

TEST(CastTest, EightBitFloatsSaturateOrNot) {
  const Tensor x = Make<float>({4}, {1e6F, kInf, -kInf, 1});
  EXPECT_THAT(Bits(Reference(CastTo(kFloat8E4M3FN).Input(x))), ElementsAre(0x7E, 0x7E, 0xFE, 0x38));
  EXPECT_THAT(Bits(Reference(CastTo(kFloat8E4M3FN).Attribute("saturate", int64_t{0}).Input(x))),
              ElementsAre(0x7F, 0x7F, 0xFF, 0x38));
  EXPECT_THAT(Bits(Reference(CastTo(kFloat8E5M2).Input(x))), ElementsAre(0x7B, 0x7B, 0xFB, 0x3C));
  EXPECT_THAT(Bits(Reference(CastTo(kFloat8E5M2).Attribute("saturate", int64_t{0}).Input(x))),
              ElementsAre(0x7C, 0x7C, 0xFC, 0x3C));
}

TEST(CastTest, PowersOfTwoRoundAsAsked) {
  const Tensor x = Make<float>({5}, {1, 1.25F, 1.5F, 1e-45F, 0});
  const auto cast = [&](const std::string& mode, int64_t saturate) {
    return Bits(Reference(CastTo(kFloat8E8M0)
                              .Attribute("round_mode", mode)
                              .Attribute("saturate", saturate)
                              .Input(x)));
  };
  EXPECT_THAT(cast("up", 1), ElementsAre(127, 128, 128, 0, 0));
  EXPECT_THAT(cast("down", 1), ElementsAre(127, 127, 127, 0, 0));
  EXPECT_THAT(cast("nearest", 0), ElementsAre(127, 127, 128, 255, 255));
}

TEST(CastTest, FourAndTwoBitIntegersKeepTheirLowBits) {
  const Tensor x = Make<float>({5}, {-9, -1, 7, 8, 15});
  ExpectClose(Reference(CastTo(kInt8).Input(Reference(CastTo(kInt4).Input(x)))),
              Make<int8_t>({5}, {7, -1, 7, -8, -1}), 0);
  ExpectClose(Reference(CastTo(kUint8).Input(Reference(CastTo(kUint2).Input(x)))),
              Make<uint8_t>({5}, {3, 3, 3, 0, 3}), 0);
}

TEST(CastTest, StringsAreParsedAsNumbers) {
  const Tensor texts = Make<std::string>({6}, {"3.14", " 1e-5", "inf", "-INF", "nan", "1E8"});
  ExpectClose(Reference(CastTo(kFloat).Input(texts)),
              Make<float>({6}, {3.14F, 1e-5F, kInf, -kInf, NAN, 1e8F}), 0);
  ExpectClose(Reference(CastTo(kInt64).Input(Make<std::string>({2}, {"-7", "100.5"}))),
              Make<int64_t>({2}, {-7, 100}), 0);
  ExpectClose(Reference(CastTo(kUint64).Input(Make<std::string>({1}, {"18446744073709551615"}))),
              Make<uint64_t>({1}, {~uint64_t{0}}), 0);
  for (const DataType to : {kFloat, kInt32, kBool}) {
    const absl::Status status =
        CastTo(to).Input(Make<std::string>({1}, {"Hello\n"})).Reference().status();
    EXPECT_THAT(status.message(), ::testing::StartsWith("the string \"Hello\\n\" cannot be cast"));
  }
}

TEST(CastTest, NumbersBecomePlainDecimals) {
  const Tensor x = Make<float>({7}, {314.15926F, 1e-7F, 0.1F, -2, kInf, -kInf, NAN});
  EXPECT_THAT(ToStrings(Reference(CastTo(kString).Input(x))).value(),
              ElementsAre("314.15927", "0.0000001", "0.1", "-2", "INF", "-INF", "NaN"));
  EXPECT_THAT(ToStrings(Reference(CastTo(kString).Input(Make<double>({1}, {5e-324})))).value()[0],
              ::testing::EndsWith("00005"));
  EXPECT_THAT(
      ToStrings(Reference(CastTo(kString).Input(Make<uint64_t>({1}, {~uint64_t{0}})))).value(),
      ElementsAre("18446744073709551615"));
  EXPECT_THAT(ToStrings(Reference(CastTo(kString).Input(MakeBool({2}, {1, 0})))).value(),
              ElementsAre("1", "0"));
}

TEST(CastTest, CastLikeTakesTheTypeOfItsSecondInput) {
  OpTester op("CastLike", 19);
  op.Input(Make<float>({2}, {1.5F, -2})).Input(Make<int32_t>({}, {0}));
  ExpectClose(op.Reference().value()[0], Make<int32_t>({2}, {1, -2}), 0);
  ExpectClose(op.Kernel().value()[0], Make<int32_t>({2}, {1, -2}), 0);
}

TEST(CastTest, ComplexNumbersAreRefused) {
  const absl::Status status =
      CastTo(kFloat).Input(Make<std::complex<float>>({1}, {{1, 2}})).Reference().status();
  EXPECT_EQ(status.message(), "there is no cast from complex64[1] to float");
}

// The numbers fit every type, only some types, or none.
TEST(CastTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const DataType types[] = {kFloat, kFloat16, kBfloat16, kDouble, kInt64,  kInt32,
                            kInt16, kInt8,    kUint8,    kUint16, kUint32, kBool};
  const Tensor special = Make<double>({14}, {0, -0.0, 0.5, -0.5, 1e-40, 127.9, -129, 65519, 65520,
                                             -3e9, 5e18, 1e30, INFINITY, NAN});
  int kernels = 0;
  for (const DataType from : types) {
    for (const int64_t length : {1, 14, 1033}) {
      const Tensor source =
          length == 14 ? special : Converted(RandomFloats({length}, generator, 1000), kDouble);
      const Tensor x = Reference(CastTo(from).Input(source));
      for (const DataType to : types) {
        SCOPED_TRACE(absl::StrCat(Name(from), " to ", Name(to), " ", length));
        const auto outputs = CastTo(to).Input(x).Kernel();
        // There is no kernel if the conversion would need two roundings.
        if (absl::IsFailedPrecondition(outputs.status())) continue;
        ++kernels;
        ExpectClose(outputs.value()[0], Reference(CastTo(to).Input(x)), 0);
      }
    }
  }
  // All pairs but those from double to the types that are reached by way of float or int64.
  EXPECT_EQ(kernels, 3 * (12 * 12 - 5));
}

// Covers every pattern of the 16-bit floats and every way to round to them.
TEST(CastTest, SixteenBitFloatsExhaustively) {
  std::vector<int64_t> patterns(65536);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<int64_t>(i);
  const Tensor bits = FromInts(kUint16, {65536}, patterns).value();
  for (const DataType half : {kFloat16, kBfloat16}) {
    const Tensor x = Tensor::Borrow(half, {65536}, bits.raw(), bits.byte_size(), nullptr).value();
    const Tensor floats = CastTo(kFloat).Input(x).Kernel().value()[0];
    ExpectClose(floats, Reference(CastTo(kFloat).Input(x)), 0);
    std::vector<float> around;
    for (int i = 0; i < 65535; ++i) {
      const float low = floats.data<float>()[i];
      const float high = floats.data<float>()[i + 1];
      const float middle = low / 2 + high / 2;
      around.insert(around.end(),
                    {middle, std::nextafter(middle, kInf), std::nextafter(middle, -kInf)});
    }
    const Tensor y = Make<float>({static_cast<int64_t>(around.size())}, around);
    ExpectClose(CastTo(half).Input(y).Kernel().value()[0], Reference(CastTo(half).Input(y)), 0);
  }
}

}  // namespace
}  // namespace attnrun::testing
