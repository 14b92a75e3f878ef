// SPDX-License-Identifier: Apache-2.0
// The elementwise reference operators against values derived from the ONNX text, and their errors
// for inputs that ONNX forbids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "ops/interface/registry.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr int64_t kLowest = std::numeric_limits<int64_t>::lowest();

Tensor Ints(DataType type, const std::vector<int64_t>& elements) {
  return FromInts(type, {static_cast<int64_t>(elements.size())}, elements).value();
}

Tensor Floats(const std::vector<float>& elements) {
  return Make<float>({static_cast<int64_t>(elements.size())}, elements);
}

struct IntegerCase {
  const char* op;
  DataType type;
  std::vector<int64_t> a;
  std::vector<int64_t> b;
  std::vector<int64_t> expected;
  AttributeMap attributes{};
  int opset = 28;
};

TEST(ElementwiseReferenceTest, FloorDivision) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  OpTester op("FloorDiv", 1, "attnrun");
  op.Input(Ints(DataType::kInt64, {-7, 7, -7, 7, -6, 6, 0, kLowest, kLowest, most, kLowest + 1}))
      .Input(Ints(DataType::kInt64, {2, -2, -2, 2, 3, -3, -5, -1, 3, -2, kLowest}));
  const std::vector<int64_t> expected = {
      -4, -4, 3, 3, -2, -2, 0, kLowest, kLowest / 3 - 1, -most / 2 - 1, 0};
  ExpectClose(op.Reference().value()[0], Ints(DataType::kInt64, expected), 0);
  ExpectClose(op.Kernel().value()[0], Ints(DataType::kInt64, expected), 0);
  OpTester bytes("FloorDiv", 1, "attnrun");
  bytes.Input(Ints(DataType::kUint8, {250, 9})).Input(Ints(DataType::kUint8, {4, 10}));
  ExpectClose(bytes.Reference().value()[0], Ints(DataType::kUint8, {62, 0}), 0);
}

TEST(ElementwiseReferenceTest, IntegerArithmetic) {
  using enum DataType;
  const std::string left = "LEFT";
  const std::string right = "RIGHT";
  const IntegerCase cases[] = {
      {"Add", kUint8, {250, 1}, {10, 2}, {4, 3}},
      {"Sub", kUint8, {1}, {2}, {255}},
      {"Mul", kInt8, {100}, {3}, {44}},
      {"Add", kInt64, {kLowest}, {-1}, {std::numeric_limits<int64_t>::max()}},
      // Division truncates rather than floors; the lowest integer divided by -1 wraps.
      {"Div", kInt32, {-7, 7, -7, 7}, {2, -2, -2, 2}, {-3, -3, 3, 3}},
      {"Div", kInt64, {kLowest}, {-1}, {kLowest}},
      {"Div", kInt8, {-128}, {-1}, {-128}},
      {"Div", kUint64, {-1}, {2}, {std::numeric_limits<int64_t>::max()}},
      // The result has the sign of the divisor, or with fmod that of the dividend.
      {"Mod", kInt64, {-7, 7, -7, 6}, {3, -3, -3, 3}, {2, -2, -1, 0}},
      {"Mod", kInt64, {-7, 7, -7, 6}, {3, -3, -3, 3}, {-1, 1, -1, 0}, {{"fmod", int64_t{1}}}},
      {"Mod", kInt64, {kLowest}, {-1}, {0}},
      {"Pow",
       kInt64,
       {2, -3, 0, 10, 1, -1, 5},
       {10, 3, 0, 19, -4, -3, -1},
       {1024, -27, 1, -8446744073709551616, 1, -1, 0}},
      {"Max", kUint64, {-1}, {1}, {-1}},
      {"Min", kUint64, {-1}, {1}, {1}},
      {"PRelu", kInt32, {-4, 4}, {3, 3}, {-12, 4}},
      {"BitwiseAnd", kUint8, {12}, {10}, {8}},
      {"BitwiseOr", kUint8, {12}, {10}, {14}},
      {"BitwiseXor", kInt8, {12}, {-1}, {-13}},
      {"BitShift", kUint8, {16, 4, 200}, {1, 2, 8}, {8, 1, 0}, {{"direction", right}}, 11},
      {"BitShift", kUint8, {16, 255, 1}, {1, 1, 9}, {32, 254, 0}, {{"direction", left}}, 11},
      {"BitShift",
       kInt8,
       {-8, -8, -8, 64},
       {1, 9, -1, 1},
       {-4, -1, -1, 32},
       {{"direction", right}}},
      {"BitShift", kInt8, {64, -1, 3}, {1, 8, -1}, {-128, 0, 0}, {{"direction", left}}},
      {"BitShift", kUint64, {-1}, {63}, {1}, {{"direction", right}}},
  };
  for (const IntegerCase& test : cases) {
    SCOPED_TRACE(absl::StrCat(test.op, " ", Name(test.type)));
    OpTester op(test.op, test.opset);
    for (const auto& [name, value] : test.attributes) op.Attribute(name, value);
    op.Input(Ints(test.type, test.a)).Input(Ints(test.type, test.b));
    ExpectClose(op.Reference().value()[0], Ints(test.type, test.expected), 0);
  }
}

struct FloatCase {
  const char* op;
  int opset;
  std::vector<float> x;
  std::vector<float> expected;
  AttributeMap attributes{};
};

TEST(ElementwiseReferenceTest, FunctionsOfFloats) {
  const std::string tanh = "tanh";
  const FloatCase cases[] = {
      {"Round", 22, {0.9F, 2.5F, 2.3F, 1.5F, -4.5F}, {1, 2, 2, 2, -4}},
      {"Sign", 13, {-2, 0, 5, NAN}, {-1, 0, 1, NAN}},
      {"Sqrt", 13, {4, -1}, {2, NAN}},
      {"Log", 13, {1, 0, -1}, {0, -kInf, NAN}},
      {"Erf", 13, {0, 1, -kInf}, {0, 0.84270079F, -1}},
      {"Relu", 14, {-1, 2, NAN}, {0, 2, NAN}},
      {"LeakyRelu", 16, {-1, 2}, {-0.01F, 2}},
      {"Shrink", 9, {-1, -0.5F, 0.25F, 2}, {-1, 0, 0, 2}},
      {"ThresholdedRelu", 22, {1, 1.5F}, {0, 1.5F}},
      {"Elu", 22, {-1, 2}, {-0.63212056F, 2}},
      {"Selu", 22, {-1, 1}, {-1.1113307F, 1.050701F}},
      {"Celu", 12, {-2, 3}, {-1.2642411F, 3}, {{"alpha", 2.0F}}},
      {"Sigmoid", 13, {0, 1}, {0.5F, 0.73105858F}},
      {"HardSigmoid", 22, {-3, 1, 3}, {0, 0.7F, 1}},
      {"HardSwish", 22, {-4, 1, 4}, {0, 0.6666667F, 4}},
      {"Swish", 24, {1, -1}, {0.88079708F, -0.11920292F}, {{"alpha", 2.0F}}},
      {"Softplus", 22, {0, 1000}, {0.69314718F, 1000}},
      {"Softsign", 22, {-1, 3}, {-0.5F, 0.75F}},
      {"Mish", 22, {1}, {0.86509839F}},
      {"Gelu", 20, {-1, 1, -6}, {-0.15865525F, 0.84134475F, -5.9195e-9F}},
      {"Gelu", 20, {1}, {0.84119199F}, {{"approximate", tanh}}},
      {"Clip", 7, {-2, 0.5F, 7}, {-1, 0.5F, 7}, {{"min", -1.0F}}},
  };
  for (const FloatCase& test : cases) {
    SCOPED_TRACE(test.op);
    OpTester op(test.op, test.opset);
    for (const auto& [name, value] : test.attributes) op.Attribute(name, value);
    op.Input(Floats(test.x));
    ExpectClose(op.Reference().value()[0], Floats(test.expected), kEpsilon);
  }
}

TEST(ElementwiseReferenceTest, RemaindersOfFloats) {
  const std::vector<float> a = {-7, 7, 5.5F, -kInf, 3, -3, -0.0F};
  const std::vector<float> b = {3, -3, 0, 2, kInf, kInf, 2};
  OpTester truncated("Mod", 13);
  truncated.Attribute("fmod", int64_t{1}).Input(Floats(a)).Input(Floats(b));
  ExpectClose(truncated.Reference().value()[0], Floats({-1, 1, NAN, NAN, 3, -3, 0}), 0);
  OpTester floored("Mod", 28);
  floored.Input(Floats(a)).Input(Floats(b));
  ExpectClose(floored.Reference().value()[0], Floats({2, -2, NAN, NAN, 3, kInf, 0}), 0);
  OpTester before("Mod", 13);
  before.Input(Floats(a)).Input(Floats(b));
  EXPECT_THAT(before.Reference().status().message(), HasSubstr("input 0 must be one of"));
}

TEST(ElementwiseReferenceTest, ComparisonsOfUnsignedNumbersAndStrings) {
  OpTester less("Less", 13);
  less.Input(Ints(DataType::kUint64, {-1, 1})).Input(Ints(DataType::kUint64, {1, -1}));
  ExpectClose(less.Reference().value()[0], MakeBool({2}, {0, 1}), 0);
  OpTester equal("Equal", 19);
  equal.Input(Make<std::string>({2}, {"a", "b"})).Input(Make<std::string>({1}, {"b"}));
  ExpectClose(equal.Reference().value()[0], MakeBool({2}, {0, 1}), 0);
  OpTester nan("Equal", 13);
  nan.Input(Floats({NAN, 0})).Input(Floats({NAN, -0.0F}));
  ExpectClose(nan.Reference().value()[0], MakeBool({2}, {0, 1}), 0);
}

TEST(ElementwiseReferenceTest, WhereMovesStringsAndComplexNumbers) {
  OpTester strings("Where", 16);
  strings.Input(MakeBool({2, 1}, {1, 0}))
      .Input(Make<std::string>({2}, {"a", "b"}))
      .Input(Make<std::string>({}, {"z"}));
  EXPECT_THAT(ToStrings(strings.Reference().value()[0]).value(),
              ::testing::ElementsAre("a", "b", "z", "z"));
  using Complex = std::complex<double>;
  OpTester complex("Where", 16);
  complex.Input(MakeBool({2}, {0, 1}))
      .Input(Make<Complex>({2}, {{1, 2}, {3, 4}}))
      .Input(Make<Complex>({2}, {{5, 6}, {7, 8}}));
  EXPECT_THAT(ToComplex(complex.Reference().value()[0]).value(),
              ::testing::ElementsAre(Complex(5, 6), Complex(3, 4)));
}

TEST(ElementwiseReferenceTest, ClipBounds) {
  // The upper bound wins; a missing upper bound is the largest finite number.
  OpTester crossed("Clip", 13);
  crossed.Input(Floats({0, 5})).Input(Make<float>({}, {3})).Input(Make<float>({}, {1}));
  ExpectClose(crossed.Reference().value()[0], Floats({1, 1}), 0);
  OpTester open("Clip", 13);
  open.Input(Floats({kInf, NAN})).Input(Make<float>({}, {0}));
  const Tensor expected = Floats({std::numeric_limits<float>::max(), NAN});
  ExpectClose(open.Reference().value()[0], expected, 0);
  ExpectClose(open.Kernel().value()[0], expected, 0);
}

TEST(ElementwiseReferenceTest, DropoutInInferenceKeepsEverything) {
  for (const int opset : {7, 10, 13, 22}) {
    OpTester op("Dropout", opset);
    op.Input(Floats({1, 2})).Outputs(2);
    const std::vector<Tensor> outputs = op.Reference().value();
    ExpectClose(outputs[0], Floats({1, 2}), 0);
    ExpectClose(outputs[1], opset < 10 ? Floats({1, 1}) : MakeBool({2}, {1, 1}), 0);
  }
  OpTester training("Dropout", 13);
  training.Input(Floats({1, 2})).NoInput().Input(MakeBool({}, {1}));
  EXPECT_EQ(training.Reference().status().code(), absl::StatusCode::kUnimplemented);
}

TEST(ElementwiseReferenceTest, BitCastKeepsTheBits) {
  OpTester op("BitCast", 26);
  op.Attribute("to", static_cast<int64_t>(DataType::kInt32)).Input(Floats({1, -0.0F}));
  ExpectClose(op.Reference().value()[0],
              Make<int32_t>({2}, {0x3F800000, std::numeric_limits<int32_t>::lowest()}), 0);
}

// Both engines must refuse with the same message.
TEST(ElementwiseReferenceTest, ErrorsSayWhatIsWrong) {
  struct Case {
    OpTester op;
    const char* message;
  };
  const Case cases[] = {
      {OpTester("Add").Input(Floats({1, 2, 3})).Input(Floats({1, 2})),
       "shapes [3] and [2] do not broadcast"},
      {OpTester("Div").Input(Ints(DataType::kInt64, {1})).Input(Ints(DataType::kInt64, {3, 0})),
       "division by zero"},
      {OpTester("Mod").Input(Ints(DataType::kUint8, {1})).Input(Ints(DataType::kUint8, {0})),
       "division by zero"},
      {OpTester("Pow").Input(Ints(DataType::kInt64, {0})).Input(Ints(DataType::kInt64, {-1})),
       "division by zero"},
      {OpTester("Add").Input(Floats({1})).Input(Ints(DataType::kInt64, {1})),
       "must be of one type, but are float[1] and int64[1]"},
      {OpTester("Add").Input(MakeBool({1}, {1})).Input(MakeBool({1}, {1})),
       "input 0 must be one of"},
      {OpTester("Exp").Input(Ints(DataType::kInt64, {1})), "but is int64[1]"},
      {OpTester("And").Input(Floats({1})).Input(Floats({1})), "input 0 must be one of bool"},
      {OpTester("Where").Input(Floats({1})).Input(Floats({1})).Input(Floats({1})), "bool"},
      {OpTester("Clip").Input(Floats({1})).Input(Floats({1, 2})), "must be a scalar"},
      {OpTester("PRelu").Input(Floats({1})).Input(Floats({1, 2})), "does not broadcast"},
      {OpTester("Gelu").Attribute("approximate", std::string("x")).Input(Floats({1})),
       "must be one of none, tanh"},
      {OpTester("BitShift").Input(Ints(DataType::kUint8, {1})).Input(Ints(DataType::kUint8, {1})),
       "attribute 'direction' is required"},
      {OpTester("Clip", 7).Input(Floats({1})).Input(Floats({1})), "version 6 takes 1 to 1 inputs"},
      {OpTester("BitCast", 26).Attribute("to", int64_t{7}).Input(Floats({1})), "same width"},
  };
  for (const Case& test : cases) {
    const absl::Status reference = test.op.Reference().status();
    EXPECT_EQ(reference.code(), absl::StatusCode::kInvalidArgument) << reference;
    EXPECT_THAT(reference.message(), HasSubstr(test.message));
    const absl::Status kernel = test.op.Kernel().status();
    if (absl::IsFailedPrecondition(kernel)) continue;
    EXPECT_EQ(kernel, reference);
  }
}

// Two small operands may ask for an output of any size.
TEST(ElementwiseReferenceTest, ExplodingBroadcastsAreRefused) {
  for (const char* name : {"Add", "Less"}) {
    OpTester op(name);
    op.Input(Tensor::Allocate(DataType::kFloat, {1 << 21, 1}).value());
    op.Input(Tensor::Allocate(DataType::kFloat, {1, 1 << 21}).value());
    EXPECT_EQ(op.Reference().status().code(), absl::StatusCode::kResourceExhausted) << name;
    EXPECT_EQ(op.Kernel().status().code(), absl::StatusCode::kResourceExhausted) << name;
  }
}

}  // namespace
}  // namespace attnrun::testing
