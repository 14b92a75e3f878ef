// SPDX-License-Identifier: Apache-2.0
// The kernels of the elementwise operators against their references, for all kinds of broadcasting
// and strides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

using Shapes = std::vector<std::vector<int64_t>>;

std::string Text(const Shapes& shapes) {
  std::string text;
  for (const auto& shape : shapes) absl::StrAppend(&text, "[", absl::StrJoin(shape, ","), "]");
  return text;
}

// Equal shapes, scalars, rows, columns, rows with columns, axes that cannot be merged, long rows
// with tails, enough elements for several threads, short rows, no elements.
const std::vector<Shapes>& PairsOfShapes() {
  static const auto* const shapes = new std::vector<Shapes>{
      {{}, {}},
      {{1}, {}},
      {{4}, {4}},
      {{3, 33}, {3, 33}},
      {{2, 17}, {}},
      {{1, 1}, {5, 9}},
      {{5, 67}, {67}},
      {{5, 67}, {5, 1}},
      {{7, 1}, {1, 19}},
      {{2, 1, 4, 8}, {3, 1, 8}},
      {{2, 3, 1, 1, 5}, {1, 3, 4, 6, 5}},
      {{1100}, {1}},
      {{3, 40000}, {40000}},
      {{700, 3}, {700, 1}},
      {{13000, 5}, {5}},
      {{7, 90, 2}, {7, 1, 2}},
      {{0, 3}, {1, 3}},
      {{2, 0}, {}},
  };
  return *shapes;
}

Tensor RandomNumbers(DataType type, const std::vector<int64_t>& shape, std::mt19937& generator) {
  if (type == DataType::kBool) return RandomInts(type, shape, generator, 0, 1);
  if (IsInteger(type)) {
    return RandomInts(type, shape, generator, IsSignedInteger(type) ? -5 : 0, 5);
  }
  return Converted(RandomFloats(shape, generator, 2), type);
}

// For divisors and exponents: numbers that every type accepts.
Tensor RandomOperand(const std::string& op, DataType type, const std::vector<int64_t>& shape,
                     std::mt19937& generator) {
  const bool divides = op == "Div" || op == "Mod";
  if (divides && IsInteger(type)) return RandomInts(type, shape, generator, 1, 7);
  if (op == "Pow") return RandomInts(type, shape, generator, 1, 4);
  return RandomNumbers(type, shape, generator);
}

struct BinaryCase {
  const char* op;
  std::vector<DataType> types;
  // In epsilons of the type, because the kernel computes in float and rounds once more.
  double epsilons = 1;
};

const std::vector<BinaryCase>& BinaryCases() {
  using enum DataType;
  static const std::vector<DataType> numbers = {kFloat, kDouble, kFloat16, kBfloat16, kInt64,
                                                kInt32, kInt8,   kUint8,   kInt16,    kUint32};
  static const auto* const cases = new std::vector<BinaryCase>{
      {"Add", numbers},
      {"Sub", numbers},
      {"Mul", numbers},
      {"Div", numbers},
      {"Min", numbers},
      {"Max", numbers},
      {"Mod", {kInt64, kInt32, kInt8, kUint16}},
      {"PRelu", {kFloat, kFloat16}},
      // powf of the C library is within 1 ulp; squares and cubes are within two roundings.
      {"Pow", {kFloat, kBfloat16}, 2},
      {"BitwiseAnd", {kInt64, kInt32, kUint8}},
      {"BitwiseOr", {kInt64, kInt32, kInt8}},
      {"BitwiseXor", {kInt64, kInt32, kUint16}},
      {"Equal", {kFloat, kDouble, kFloat16, kInt64, kInt32, kUint8, kBool}},
      {"Less", numbers},
      {"LessOrEqual", {kFloat, kInt64, kInt32}},
      {"Greater", numbers},
      {"GreaterOrEqual", {kFloat, kInt64, kInt32}},
      {"And", {kBool}},
      {"Or", {kBool}},
      {"Xor", {kBool}},
  };
  return *cases;
}

TEST(ElementwiseKernelTest, BinaryOperatorsAgreeWithReference) {
  std::mt19937 generator(Seed());
  for (const BinaryCase& test : BinaryCases()) {
    for (const DataType type : test.types) {
      for (const Shapes& shapes : PairsOfShapes()) {
        SCOPED_TRACE(absl::StrCat(test.op, " ", Name(type), " ", Text(shapes)));
        if (absl::string_view(test.op) == "PRelu" &&
            BroadcastShapes(shapes[0], shapes[1]).value() !=
                Shape(shapes[0].begin(), shapes[0].end())) {
          continue;
        }
        OpTester op(test.op, 20);
        op.Input(RandomNumbers(type, shapes[0], generator))
            .Input(RandomOperand(test.op, type, shapes[1], generator));
        const Tensor expected = op.Reference().value()[0];
        const double epsilon = IsFloatingPoint(type) ? Epsilon(type) : 0;
        ExpectClose(op.Kernel().value()[0], expected, test.epsilons * epsilon);
        ExpectClose(op.InPlace().Kernel().value()[0], expected, test.epsilons * epsilon);
      }
    }
  }
}

TEST(ElementwiseKernelTest, VariadicOperatorsFoldAllInputs) {
  std::mt19937 generator(Seed());
  for (const char* name : {"Min", "Max", "Sum", "Mean"}) {
    for (const int count : {1, 2, 3, 5}) {
      SCOPED_TRACE(absl::StrCat(name, " ", count));
      OpTester op(name, 13);
      const Shapes shapes = {{3, 1}, {5}, {3, 5}, {}, {2, 3, 5}};
      for (int i = 0; i < count; ++i) op.Input(RandomFloats(shapes[i], generator));
      const Tensor expected = op.Reference().value()[0];
      // Up to four additions and a division, each rounded.
      ExpectClose(op.Kernel().value()[0], expected, 5 * kEpsilon);
      ExpectClose(op.InPlace().Kernel().value()[0], expected, 5 * kEpsilon);
    }
  }
}

TEST(ElementwiseKernelTest, WhereAcceptsOperandsOfEveryWidth) {
  std::mt19937 generator(Seed());
  const std::vector<Shapes> cases = {{{}, {}, {}},
                                     {{37}, {37}, {37}},
                                     {{4, 1, 9}, {3, 9}, {}},
                                     {{5, 33}, {}, {5, 33}},
                                     {{1}, {2, 300}, {300}},
                                     {{6, 1}, {1, 70}, {70}},
                                     {{300, 1}, {300, 5}, {5}},
                                     {{300, 5}, {1, 5}, {}}};
  for (const DataType type : {DataType::kFloat, DataType::kInt64, DataType::kFloat16,
                              DataType::kBool, DataType::kInt32, DataType::kDouble}) {
    for (const Shapes& shapes : cases) {
      SCOPED_TRACE(absl::StrCat(Name(type), " ", Text(shapes)));
      OpTester op("Where", 16);
      op.Input(RandomInts(DataType::kBool, shapes[0], generator, 0, 1))
          .Input(RandomNumbers(type, shapes[1], generator))
          .Input(RandomNumbers(type, shapes[2], generator));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 0);
      ExpectClose(op.InPlace().Kernel().value()[0], op.Reference().value()[0], 0);
    }
  }
}

// A transposed matrix, a slice of every third column, a repeated row and a reversed one.
TEST(ElementwiseKernelTest, OperandsMayBeStrided) {
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat, DataType::kBfloat16, DataType::kInt32}) {
    const Tensor base = RandomNumbers(type, {60, 70}, generator);
    const Tensor views[] = {base.View({70, 60}, {1, 70}, 0), base.View({60, 23}, {70, 3}, 1),
                            base.View({4, 70}, {0, 1}, 140), base.View({60, 70}, {70, -1}, 69),
                            base.View({60, 9}, {70, 7}, 2),  base.View({70, 8}, {1, 70}, 0)};
    for (const Tensor& view : views) {
      SCOPED_TRACE(absl::StrCat(TypeAndShape(view), " strides ", ToString(view.strides())));
      OpTester add("Add");
      add.Input(view).Input(RandomNumbers(type, {view.dim(0), 1}, generator));
      ExpectClose(add.Kernel().value()[0], add.Reference().value()[0],
                  IsFloatingPoint(type) ? Epsilon(type) : 0);
      OpTester negate("Neg");
      negate.Input(view);
      ExpectClose(negate.Kernel().value()[0], negate.Reference().value()[0], 0);
    }
  }
}

struct UnaryCase {
  const char* op;
  int opset;
  // The bound on |kernel - reference| / max(1, |reference|), in epsilons.
  double epsilons;
  AttributeMap attributes;
};

// Highway's functions are within 1 to 4 ulp and the C library's within 1; formulas of two or three
// functions add up.
const std::vector<UnaryCase>& UnaryCases() {
  static const auto* const cases = new std::vector<UnaryCase>{
      {"Abs", 13, 0, {}},
      {"Neg", 13, 0, {}},
      {"Sign", 13, 0, {}},
      {"Ceil", 13, 0, {}},
      {"Floor", 13, 0, {}},
      {"Round", 22, 0, {}},
      {"Sqrt", 13, 1, {}},
      {"Reciprocal", 13, 1, {}},
      {"Exp", 13, 1, {}},
      {"Log", 13, 2, {}},
      {"Erf", 13, 2, {}},
      {"Sin", 22, 2, {}},
      {"Cos", 22, 2, {}},
      {"Tan", 22, 2, {}},
      {"Asin", 22, 2, {}},
      {"Acos", 22, 2, {}},
      {"Atan", 22, 2, {}},
      {"Sinh", 22, 2, {}},
      {"Cosh", 22, 2, {}},
      {"Tanh", 13, 2, {}},
      {"Asinh", 22, 2, {}},
      {"Acosh", 22, 2, {}},
      {"Atanh", 22, 2, {}},
      {"Relu", 14, 0, {}},
      {"LeakyRelu", 16, 1, {{"alpha", 0.2F}}},
      {"Shrink", 9, 1, {{"lambd", 0.3F}, {"bias", 0.2F}}},
      {"Shrink", 9, 1, {{"lambd", -0.3F}, {"bias", 0.2F}}},
      {"ThresholdedRelu", 22, 0, {{"alpha", 0.7F}}},
      {"Elu", 22, 4, {{"alpha", 1.5F}}},
      {"Selu", 22, 4, {}},
      {"Celu", 28, 4, {{"alpha", 2.0F}}},
      {"Sigmoid", 13, 2, {}},
      {"HardSigmoid", 22, 1, {}},
      {"HardSwish", 22, 2, {}},
      {"Swish", 24, 3, {{"alpha", 1.7F}}},
      {"Softplus", 22, 3, {}},
      {"Softsign", 22, 1, {}},
      {"Mish", 22, 4, {}},
      {"Gelu", 20, 2, {}},
      {"Gelu", 20, 3, {{"approximate", std::string("tanh")}}},
  };
  return *cases;
}

OpTester Tester(const UnaryCase& test) {
  OpTester op(test.op, test.opset);
  for (const auto& [name, value] : test.attributes) op.Attribute(name, value);
  return op;
}

TEST(ElementwiseKernelTest, UnaryOperatorsAgreeWithReference) {
  std::mt19937 generator(Seed());
  for (const UnaryCase& test : UnaryCases()) {
    for (const DataType type : {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16}) {
      for (const int64_t length : {1, 7, 16, 33, 1000, 20001}) {
        SCOPED_TRACE(absl::StrCat(test.op, " ", Name(type), " ", length));
        OpTester op = Tester(test);
        op.Input(Converted(RandomFloats({length}, generator, 3), type));
        const Tensor expected = op.Reference().value()[0];
        // The float result is rounded to the shorter type.
        const double tolerance =
            test.epsilons * kEpsilon + (type == DataType::kFloat ? 0 : Epsilon(type));
        ExpectClose(op.Kernel().value()[0], expected, tolerance);
        ExpectClose(op.InPlace().Kernel().value()[0], expected, tolerance);
      }
    }
  }
}

TEST(ElementwiseKernelTest, ExactFunctionsOfDoublesLoseNoBit) {
  std::mt19937 generator(Seed());
  for (const char* name : {"Abs", "Neg", "Sign", "Ceil", "Floor", "Round", "Sqrt", "Reciprocal"}) {
    SCOPED_TRACE(name);
    std::vector<double> values = {NAN, kInf, -kInf,      0.0,   -0.0,
                                  0.5, -2.5, 0x1p53 + 2, 1e300, 4e-320};
    std::uniform_real_distribution<double> numbers(-100, 100);
    while (values.size() < 77) values.push_back(numbers(generator));
    OpTester op(name, 22);
    op.Input(Make<double>({77}, values));
    const Tensor expected = op.Reference().value()[0];
    ExpectClose(op.Kernel().value()[0], expected, 0);
    ExpectClose(op.InPlace().Kernel().value()[0], expected, 0);
  }
}

// Covers zeros, subnormals, the ends of the range, infinities, NaN, and the points where functions
// change formula.
TEST(ElementwiseKernelTest, UnaryOperatorsAcceptEveryFloat) {
  std::vector<float> values = {NAN};
  for (const float magnitude :
       {0.0F,     1e-45F,   1e-40F,     1.1754944e-38F, 1e-20F, 1e-5F,         0.5F,
        0.999F,   1.0F,     1.0000001F, 1.5F,           2.5F,   3.9F,          10.0F,
        14.6F,    20.0F,    88.0F,      88.8F,          89.5F,  104.0F,        105.0F,
        38999.0F, 39001.0F, 1e6F,       123456789.0F,   1e20F,  3.4028235e38F, kInf}) {
    values.push_back(magnitude);
    values.push_back(-magnitude);
  }
  const Tensor x = Make<float>({static_cast<int64_t>(values.size())}, values);
  for (const UnaryCase& test : UnaryCases()) {
    SCOPED_TRACE(test.op);
    OpTester op = Tester(test);
    op.Input(x);
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], test.epsilons * kEpsilon);
  }
}

TEST(ElementwiseKernelTest, UnaryOperatorsOnIntegersAgreeWithReference) {
  std::mt19937 generator(Seed());
  for (const char* name : {"Abs", "Neg", "Sign", "Relu", "BitwiseNot"}) {
    for (const DataType type : {DataType::kInt64, DataType::kInt32, DataType::kInt8}) {
      const Tensor lowest =
          FromInts(type, {3}, {int64_t(~0ULL << (BitWidth(type) - 1)), 0, 1}).value();
      for (const Tensor& x : {lowest, RandomInts(type, {1003}, generator, -128, 127)}) {
        SCOPED_TRACE(absl::StrCat(name, " ", Name(type)));
        OpTester op(name, 20);
        op.Input(x);
        ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 0);
      }
    }
  }
}

TEST(ElementwiseKernelTest, PredicatesAgreeWithReference) {
  const Tensor x = Make<float>({6}, {NAN, kInf, -kInf, 0, -1, 3});
  for (const DataType type :
       {DataType::kFloat, DataType::kDouble, DataType::kFloat16, DataType::kBfloat16}) {
    for (const int64_t negative : {0, 1}) {
      OpTester op("IsInf", 20);
      op.Attribute("detect_negative", negative).Input(Converted(x, type));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 0);
    }
    OpTester op("IsNaN", 20);
    op.Input(Converted(x, type));
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 0);
  }
  OpTester op("Not", 7);
  op.Input(MakeBool({3}, {1, 0, 1}));
  ExpectClose(op.Kernel().value()[0], MakeBool({3}, {0, 1, 0}), 0);
}

TEST(ElementwiseKernelTest, ClipAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat, DataType::kFloat16, DataType::kInt64,
                              DataType::kInt32, DataType::kUint8}) {
    for (const int bounds : {0, 1, 2, 3}) {
      SCOPED_TRACE(absl::StrCat(Name(type), " ", bounds));
      OpTester op("Clip", 13);
      op.Input(RandomNumbers(type, {301}, generator));
      (bounds & 1) != 0 ? op.Input(RandomInts(type, {}, generator, 1, 1)) : op.NoInput();
      if ((bounds & 2) != 0) op.Input(RandomInts(type, {}, generator, 2, 2));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 0);
    }
  }
  OpTester attributes("Clip", 7);
  attributes.Attribute("min", -1.0F).Attribute("max", 1.0F).Input(RandomFloats({30}, generator));
  ExpectClose(attributes.Kernel().value()[0], attributes.Reference().value()[0], 0);
}

TEST(ElementwiseKernelTest, MinAndMaxPropagateNaNFromEitherSide) {
  for (const char* name : {"Min", "Max"}) {
    OpTester op(name, 13);
    op.Input(Make<float>({3}, {NAN, 1, 2})).Input(Make<float>({3}, {1, NAN, kInf}));
    const Tensor y = op.Kernel().value()[0];
    EXPECT_TRUE(std::isnan(y.data<float>()[0]) && std::isnan(y.data<float>()[1])) << name;
    ExpectClose(y, op.Reference().value()[0], 0);
  }
}

// Covers exponents with a kernel of their own and those that go through the C library.
TEST(ElementwiseKernelTest, PowWithOneExponentAgreesWithReference) {
  std::mt19937 generator(Seed());
  const Tensor x = Make<float>({8}, {-kInf, -2, -0.0F, 0, 0.3F, 9, kInf, NAN});
  for (const float exponent : {2.0F, 3.0F, 0.5F, -1.0F, 0.0F, 1.0F, 2.5F, -0.5F}) {
    SCOPED_TRACE(exponent);
    OpTester op("Pow", 15);
    op.Input(x).Input(Make<float>({1}, {exponent}));
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 2 * kEpsilon);
  }
  OpTester mixed("Pow", 15);
  mixed.Input(RandomFloats({50}, generator)).Input(Make<int64_t>({}, {3}));
  ExpectClose(mixed.Kernel().value()[0], mixed.Reference().value()[0], 2 * kEpsilon);
}

}  // namespace
}  // namespace attnrun::testing
