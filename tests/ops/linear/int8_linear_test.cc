// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/parallel.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

OpTester Int8LinearTester() {
  OpTester op("Linear", 1, "attnrun");
  op.Attribute("format", std::string("int8"));
  return op;
}

TEST(Int8LinearReferenceTest, AppliesScaleBiasActivationAndResidualInOrder) {
  OpTester op = Int8LinearTester();
  op.Attribute("activation", std::string("Relu"));
  // Minus the zero point 10: rows (0, 1) and (-10, 245).
  op.Input(Make<uint8_t>({2, 2}, {10, 11, 0, 255}));
  // Minus the zero points (1, 2, 3): columns (0, -2) and (4, 0), and (-131, 124) of the second
  // weight.
  op.Input(Make<int8_t>({2, 2}, {1, 6, -1, 2}));
  op.Input(Make<float>({3}, {1, 2, 3})).Input(Make<float>({2, 1}, {100, 200}));
  op.Input(Make<float>({}, {0.5})).Input(Make<uint8_t>({}, {10}));
  op.Input(Make<float>({2}, {1, 2})).Input(Make<int8_t>({2}, {1, 2}));
  op.Input(Make<int8_t>({2, 1}, {-128, 127}));
  op.Input(Make<float>({}, {4})).Input(Make<int8_t>({1}, {3}));
  // The rows of S are (-2, 0, 124) and (-490, -40, 31690).
  ExpectClose(op.Reference().value()[0], Make<float>({2, 3}, {100, 102, 351, 200, 200, 63583}), 0);
}

TEST(Int8LinearReferenceTest, ErrorsSayWhatIsWrong) {
  struct Wrong {
    int input;
    Tensor tensor;
    const char* message;
  };
  const Wrong cases[] = {
      {0, Make<float>({1, 2}, {1, 2}),
       "expected X and W0 of type int8 or uint8, but they are float"},
      {1, Make<int8_t>({3, 2}, std::vector<int8_t>(6)), "K is 2 in X[1,2], but 3 in W0[3,2]"},
      {2, Make<float>({3}, {1, 2, 3}), "expected bias of shape [2], but it is float[3]"},
      {3, Make<float>({3}, {1, 2, 3}), "residual [3] does not broadcast to Y[1,2]"},
      {4, Make<double>({}, {1}), "expected x_scale of type float, but it is double[]"},
      {4, Make<float>({2}, {1, 1}), "expected x_scale of one element, but it is float[2]"},
      {5, Make<int8_t>({}, {1}), "expected x_zero_point of type uint8, but it is int8[]"},
      {4, Tensor(), "x_scale is missing"},
      {6, Tensor(), "w0_scale is missing"},
      {6, Make<float>({3}, {1, 2, 3}), "expected w0_scale of one element or of shape [2]"},
      {7, Make<uint8_t>({}, {1}), "expected w0_zero_point of type int8, but it is uint8[]"},
      {8, Make<uint8_t>({2, 1}, {1, 2}), "expected all weights of type int8, but it is uint8[2,1]"},
  };
  for (const Wrong& wrong : cases) {
    std::vector<Tensor> inputs = {Make<uint8_t>({1, 2}, {1, 2}),
                                  Make<int8_t>({2, 2}, {1, 2, 3, 4}),
                                  {},
                                  {},
                                  Make<float>({}, {1}),
                                  {},
                                  Make<float>({}, {1})};
    inputs.resize(std::max<size_t>(inputs.size(), wrong.input + 1));
    inputs[wrong.input] = wrong.tensor;
    OpTester op = Int8LinearTester();
    for (const Tensor& input : inputs) input.defined() ? op.Input(input) : op.NoInput();
    const auto result = op.Reference();
    ASSERT_FALSE(result.ok()) << wrong.message;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(wrong.message));
  }
}

struct Case {
  int64_t m;
  int64_t k;
  // The number of columns of each weight.
  std::vector<int64_t> columns;
  const char* activation;
  // The shape of the residual.
  Dims residual;
};

OpTester Random(const Case& c, DataType type, bool per_column, std::mt19937& generator) {
  const bool is_signed = type == DataType::kInt8;
  const int64_t low = is_signed ? -128 : 0;
  int64_t n = 0;
  for (const int64_t columns : c.columns) n += columns;
  OpTester op = Int8LinearTester();
  const auto add_scales = [&](int64_t columns) {
    const Dims of_columns(per_column ? 1 : 0, columns);
    op.Constant(RandomFloats(of_columns, generator, 0.01F));
    op.Constant(RandomInts(type, of_columns, generator, low, low + 255));
  };
  op.Attribute("activation", std::string(c.activation));
  op.Input(RandomInts(type, {c.m, c.k}, generator, low, low + 255));
  op.Constant(RandomInts(type, {c.k, c.columns[0]}, generator, low, low + 255));
  op.Constant(RandomFloats({n}, generator)).Input(RandomFloats(c.residual, generator));
  op.Input(Make<float>({}, {0.01F})).Input(RandomInts(type, {}, generator, low, low + 255));
  add_scales(c.columns[0]);
  for (size_t i = 1; i < c.columns.size(); ++i) {
    op.Constant(RandomInts(type, {c.k, c.columns[i]}, generator, low, low + 255));
    add_scales(c.columns[i]);
  }
  return op;
}

TEST(Int8LinearKernelTest, AgreesWithTheReference) {
  const Case cases[] = {{1, 64, {48}, "", {48}},
                        {7, 33, {5, 16, 1}, "Gelu", {7, 22}},
                        {64, 384, {40}, "Relu", {64, 1}},
                        {19, 7, {3, 4}, "Silu", {1}},
                        {130, 96, {65}, "Tanh", {130, 65}}};
  std::mt19937 generator(Seed());
  for (const Case& c : cases) {
    for (const DataType type : {DataType::kInt8, DataType::kUint8}) {
      for (const bool per_column : {false, true}) {
        const OpTester op = Random(c, type, per_column, generator);
        const Tensor expected = op.Reference().value()[0];
        // The sum S, its scaling, the sum with the bias and the sum with the residual are rounded
        // once each; the largest of them is K * 255 * 255 * 0.01 * 0.05.
        const double largest = static_cast<double>(c.k) * 255 * 255 * 0.01 * 0.05;
        for (const int threads : {1, 2}) {
          SetNumThreads(threads);
          ExpectClose(op.Kernel().value()[0], expected, 4 * kEpsilon * (largest + 8));
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
