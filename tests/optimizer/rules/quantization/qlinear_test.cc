// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's quantized operators and the standard operators of its QOperator format, compared
// with the results of ONNX Runtime 1.31.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "support/op_tester.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

struct Case {
  std::string op_type;
  std::string domain;
  AttributeMap attributes;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;
};

// Integers may differ by one where a number lies halfway between two of them. Floats are sums of up
// to 20 products of order 1, then a softmax, a norm or a few steps of an LSTM.
void ExpectAlike(const Tensor& actual, const Tensor& expected) {
  const bool whole = IsInteger(expected.type());
  const double tolerance = whole ? 1 : 100 * kEpsilon;
  ASSERT_EQ(actual.type(), expected.type());
  ASSERT_EQ(actual.shape(), expected.shape());
  const std::vector<double> numbers = ToDoubles(actual).value();
  const std::vector<double> wanted = ToDoubles(expected).value();
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(numbers[i], wanted[i],
                tolerance * (whole ? 1 : std::max(1.0, std::fabs(wanted[i]))))
        << "element " << i;
  }
}

void CheckReference(const Case& c) {
  OpTester op(c.op_type, c.domain.empty() ? 20 : 1, c.domain);
  for (const auto& [name, value] : c.attributes) op.Attribute(name, value);
  for (const Tensor& input : c.inputs) op.Input(input);
  op.Outputs(static_cast<int>(c.expected.size()));
  const auto results = op.Reference();
  ASSERT_TRUE(results.ok()) << results.status();
  for (size_t i = 0; i < c.expected.size(); ++i) ExpectAlike((*results)[i], c.expected[i]);
}

Value* InputLike(GraphBuilder& b, const Tensor& x) {
  switch (x.rank()) {
    case 0:
      return b.Input("x", x.type(), {});
    case 1:
      return b.Input("x", x.type(), {x.dim(0)});
    case 2:
      return b.Input("x", x.type(), {x.dim(0), x.dim(1)});
    case 3:
      return b.Input("x", x.type(), {x.dim(0), x.dim(1), x.dim(2)});
    default:
      return b.Input("x", x.type(), {x.dim(0), x.dim(1), x.dim(2), x.dim(3)});
  }
}

// The first input is a graph input, the others are constants.
void CheckRewrite(const Case& c) {
  OptimizerTester test([&](GraphBuilder& b) {
    std::vector<Value*> inputs;
    for (const Tensor& input : c.inputs) {
      if (!input.defined()) {
        inputs.push_back(nullptr);
      } else if (inputs.empty()) {
        inputs.push_back(InputLike(b, input));
      } else {
        inputs.push_back(b.Constant(absl::StrCat("c", inputs.size()), input));
      }
    }
    const std::string domain = c.domain.empty() ? "" : absl::StrCat(c.domain, "::");
    const int count = static_cast<int>(c.expected.size());
    for (Value* output : b.Ops(absl::StrCat(domain, c.op_type), count, inputs, c.attributes)) {
      b.Output(output);
    }
  });
  test.Feed("x", c.inputs[0]);
  EXPECT_EQ(test.Count(absl::StrCat(c.domain, c.domain.empty() ? "" : ".", c.op_type)),
            c.op_type == "DynamicQuantizeLSTM" ? 1 : 0);
  test.ExpectSameResults(100 * kEpsilon);
}

void Check(const Case& c) {
  SCOPED_TRACE(c.op_type);
  CheckReference(c);
  CheckRewrite(c);
}

TEST(QLinearTest, Elementwise) {
  const Case cases[] = {
      {"QLinearAdd",
       "com.microsoft",
       {},
       {Make<uint8_t>({2, 3}, {168, 229, 184, 171, 238, 171}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<uint8_t>({3}, {245, 153, 204}), Make<float>({}, {0.021F}),
        Make<uint8_t>({}, {7}), Make<float>({}, {0.061F}), Make<uint8_t>({}, {100})},
       {Make<uint8_t>({2, 3}, {224, 245, 223, 226, 253, 212})}},
      {"QLinearAdd",
       "com.microsoft",
       {},
       {Make<int8_t>({2, 3}, {37, -4, 2, 16, -26, 58}), Make<float>({}, {0.053F}),
        Make<int8_t>({}, {12}), Make<int8_t>({2, 1}, {-54, -27}), Make<float>({}, {0.021F}),
        Make<int8_t>({}, {-7}), Make<float>({}, {0.02F}), Make<int8_t>({}, {-10})},
       {Make<int8_t>({2, 3}, {7, -102, -86, -20, -128, 91})}},
      {"QLinearMul",
       "com.microsoft",
       {},
       {Make<uint8_t>({2, 3}, {133, 118, 36, 98, 196, 35}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<uint8_t>({2, 1}, {50, 179}), Make<float>({}, {0.021F}),
        Make<uint8_t>({}, {7}), Make<float>({}, {0.2F}), Make<uint8_t>({}, {100})},
       {Make<uint8_t>({2, 3}, {103, 100, 80, 79, 173, 19})}},
      {"QLinearSigmoid",
       "com.microsoft",
       {},
       {Make<uint8_t>({6}, {206, 53, 141, 33, 181, 39}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<float>({}, {0.00390625F}), Make<uint8_t>({}, {0})},
       {Make<uint8_t>({6}, {253, 7, 193, 3, 246, 3})}},
      {"QLinearLeakyRelu",
       "com.microsoft",
       {{"alpha", 0.2F}},
       {Make<int8_t>({6}, {-60, -55, -42, 60, -37, 18}), Make<float>({}, {0.053F}),
        Make<int8_t>({}, {12}), Make<float>({}, {0.04F}), Make<int8_t>({}, {-30})},
       {Make<int8_t>({6}, {-49, -48, -44, 34, -43, -22})}},
      {"QLinearSoftmax",
       "com.microsoft",
       {{"opset", int64_t{13}}, {"axis", int64_t{-1}}},
       {Make<uint8_t>({2, 4}, {109, 247, 16, 192, 78, 220, 8, 60}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<float>({}, {0.00390625F}), Make<uint8_t>({}, {0})},
       {Make<uint8_t>({2, 4}, {0, 243, 0, 13, 0, 255, 0, 0})}},
      {"QLinearSoftmax",
       "com.microsoft",
       {{"opset", int64_t{13}}, {"axis", int64_t{0}}},
       {Make<uint8_t>({3, 2, 2}, {189, 181, 64, 72, 8, 185, 88, 111, 191, 138, 99, 67}),
        Make<float>({}, {0.013F}), Make<uint8_t>({}, {120}), Make<float>({}, {0.00390625F}),
        Make<uint8_t>({}, {0})},
       {Make<uint8_t>({3, 2, 2}, {121, 98, 65, 71, 11, 103, 89, 118, 124, 56, 102, 67})}},
      {"QLinearSoftmax",
       "com.microsoft",
       {{"opset", int64_t{12}}, {"axis", int64_t{1}}},
       {Make<uint8_t>({2, 2, 2}, {48, 68, 100, 249, 67, 40, 127, 45}), Make<float>({}, {0.013F}),
        Make<uint8_t>({}, {120}), Make<float>({}, {0.00390625F}), Make<uint8_t>({}, {0})},
       {Make<uint8_t>({2, 2, 2}, {14, 19, 28, 195, 55, 39, 120, 41})}},
      {"QLinearConcat",
       "com.microsoft",
       {{"axis", int64_t{1}}},
       {Make<float>({}, {0.061F}), Make<uint8_t>({}, {100}),
        Make<uint8_t>({2, 2}, {33, 51, 206, 229}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<uint8_t>({2, 1}, {217, 85}), Make<float>({}, {0.021F}),
        Make<uint8_t>({}, {7})},
       {Make<uint8_t>({2, 3}, {24, 40, 172, 175, 195, 127})}},
      {"QLinearWhere",
       "com.microsoft",
       {},
       {MakeBool({2, 3}, {1, 0, 1, 0, 1, 0}), Make<uint8_t>({2, 3}, {120, 134, 31, 216, 14, 127}),
        Make<float>({}, {0.053F}), Make<uint8_t>({}, {120}), Make<uint8_t>({3}, {208, 161, 116}),
        Make<float>({}, {0.021F}), Make<uint8_t>({}, {7}), Make<float>({}, {0.061F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({2, 3}, {100, 153, 23, 169, 8, 138})}},
      {"QuantizeLinear",
       "com.microsoft",
       {},
       {Make<float>({4}, {-0.58F, -0.31F, -0.24F, -0.36F}), Make<float>({}, {0.021F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({4}, {72, 85, 89, 83})}},
      {"DequantizeLinear",
       "com.microsoft",
       {{"axis", int64_t{1}}},
       {Make<uint8_t>({2, 3}, {252, 140, 76, 231, 51, 218}), Make<float>({3}, {0.02F, 0.1F, 0.3F}),
        Make<uint8_t>({3}, {1, 2, 3})},
       {Make<float>({2, 3}, {5.02F, 13.8F, 21.900002F, 4.6F, 4.9F, 64.5F})}},
  };
  for (const Case& c : cases) Check(c);
}

TEST(QLinearTest, Pooling) {
  const Case cases[] = {
      {"QLinearGlobalAveragePool",
       "com.microsoft",
       {},
       {Make<uint8_t>({1, 2, 2, 3}, {151, 117, 140, 92, 189, 209, 48, 225, 71, 217, 216, 47}),
        Make<float>({}, {0.053F}), Make<uint8_t>({}, {120}), Make<float>({}, {0.021F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({1, 2, 1, 1}, {175, 144})}},
      {"QLinearGlobalAveragePool",
       "com.microsoft",
       {{"channels_last", int64_t{1}}},
       {Make<uint8_t>({1, 2, 3, 2}, {124, 91, 112, 16, 45, 88, 184, 95, 72, 215, 222, 173}),
        Make<float>({}, {0.053F}), Make<uint8_t>({}, {120}), Make<float>({}, {0.021F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({1, 1, 1, 2}, {116, 82})}},
      {"QLinearAveragePool",
       "com.microsoft",
       {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>{1, 0, 0, 1}}},
       {Make<uint8_t>({1, 1, 3, 4}, {36, 146, 75, 31, 190, 30, 190, 222, 190, 75, 79, 87}),
        Make<float>({}, {0.053F}), Make<uint8_t>({}, {120}), Make<float>({}, {0.041F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({1, 1, 3, 4}, {63, 88, 13, 0, 75, 87, 112, 108, 102, 66, 132, 145})}},
      {"QLinearAveragePool",
       "com.microsoft",
       {{"kernel_shape", std::vector<int64_t>{3, 3}},
        {"strides", std::vector<int64_t>{2, 2}},
        {"ceil_mode", int64_t{1}}},
       {Make<uint8_t>({1, 1, 4, 4},
                      {255, 139, 49, 58, 133, 9, 97, 139, 135, 24, 60, 229, 52, 107, 73, 226}),
        Make<float>({}, {0.053F}), Make<uint8_t>({}, {120}), Make<float>({}, {0.041F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({1, 1, 2, 2}, {74, 81, 42, 135})}},
      {"QLinearAveragePool",
       "com.microsoft",
       {{"kernel_shape", std::vector<int64_t>{3, 3}},
        {"strides", std::vector<int64_t>{2, 2}},
        {"ceil_mode", int64_t{1}},
        {"count_include_pad", int64_t{1}}},
       {Make<uint8_t>({1, 1, 4, 4},
                      {194, 51, 72, 223, 74, 189, 116, 78, 92, 139, 189, 4, 184, 93, 52, 199}),
        Make<float>({}, {0.053F}), Make<uint8_t>({}, {120}), Make<float>({}, {0.041F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({1, 1, 2, 2}, {105, 95, 104, 95})}},
      {"QLinearAveragePool",
       "com.microsoft",
       {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"channels_last", int64_t{1}}},
       {Make<uint8_t>({1, 2, 3, 2}, {243, 109, 30, 181, 205, 194, 94, 197, 89, 159, 78, 0}),
        Make<float>({}, {0.053F}), Make<uint8_t>({}, {120}), Make<float>({}, {0.041F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({1, 1, 2, 2}, {92, 154, 75, 117})}},
  };
  for (const Case& c : cases) Check(c);
}

TEST(QLinearTest, Products) {
  const Case cases[] = {
      {"QGemm",
       "com.microsoft",
       {},
       {Make<uint8_t>({2, 3}, {15, 173, 204, 85, 116, 105}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<int8_t>({3, 2}, {52, -36, 3, -21, -25, 37}),
        Make<float>({}, {0.021F}), Make<int8_t>({}, {3}), Make<int32_t>({2}, {-463, 3}),
        Make<float>({}, {0.1F}), Make<uint8_t>({}, {100})},
       {Make<uint8_t>({2, 2}, {11, 163, 80, 111})}},
      {"QGemm",
       "com.microsoft",
       {{"alpha", 0.5F}, {"transA", int64_t{1}}, {"transB", int64_t{1}}},
       {Make<uint8_t>({3, 2}, {233, 91, 57, 39, 6, 1}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<int8_t>({2, 3}, {-46, -42, -26, 24, 10, -6}),
        Make<float>({2}, {0.01F, 0.02F}), Make<int8_t>({2}, {0, 0}), Make<int32_t>({2}, {-463, 3})},
       {Make<float>({2, 2}, {-0.013514999F, 1.46757F, 1.9522549F, -0.41816998F})}},
      {"QLinearMatMul",
       "",
       {},
       {Make<uint8_t>({1, 2, 3}, {169, 128, 103, 43, 105, 76}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<int8_t>({3, 2}, {36, -32, -53, -22, -43, 36}),
        Make<float>({}, {0.021F}), Make<int8_t>({}, {3}), Make<float>({}, {0.1F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({1, 2, 2}, {122, 72, 104, 118})}},
      {"QLinearMatMul",
       "",
       {},
       {Make<uint8_t>({2, 3}, {13, 64, 1, 133, 177, 55}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<int8_t>({3, 2}, {-25, 1, 57, -32, 32, -59}),
        Make<float>({2}, {0.01F, 0.02F}), Make<int8_t>({2}, {0, 0}), Make<float>({}, {0.1F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({2, 2}, {77, 192, 104, 121})}},
      {"QLinearMatMul",
       "",
       {},
       {Make<uint8_t>({2, 1, 3}, {11, 129, 85, 80, 243, 194}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}),
        Make<uint8_t>({2, 3, 2}, {108, 26, 11, 223, 213, 173, 248, 21, 131, 115, 209, 215}),
        Make<float>({}, {0.021F}), Make<uint8_t>({}, {90}), Make<float>({}, {0.3F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({2, 1, 2}, {74, 120, 128, 156})}},
      {"QLinearConv",
       "",
       {{"pads", std::vector<int64_t>{0, 0, 1, 0}}},
       {Make<uint8_t>({1, 2, 2, 3}, {115, 31, 77, 216, 28, 30, 10, 116, 158, 110, 45, 94}),
        Make<float>({}, {0.053F}), Make<uint8_t>({}, {120}),
        Make<int8_t>({2, 2, 2, 2},
                     {58, 55, 21, -12, -35, 53, -28, 7, 21, -31, -22, 29, -37, 21, 54, 22}),
        Make<float>({}, {0.021F}), Make<int8_t>({}, {0}), Make<float>({}, {0.2F}),
        Make<uint8_t>({}, {100}), Make<int32_t>({2}, {-463, 3})},
       {Make<uint8_t>({1, 2, 2, 2}, {105, 73, 80, 47, 98, 73, 120, 117})}},
      {"QLinearConv",
       "",
       {{"strides", std::vector<int64_t>{1, 1}}},
       {Make<uint8_t>({1, 1, 2, 3}, {76, 184, 108, 165, 121, 49}), Make<float>({}, {0.053F}),
        Make<uint8_t>({}, {120}), Make<int8_t>({2, 1, 1, 2}, {57, -34, -17, 17}),
        Make<float>({2}, {0.01F, 0.02F}), Make<int8_t>({2}, {0, 0}), Make<float>({}, {0.2F}),
        Make<uint8_t>({}, {100})},
       {Make<uint8_t>({1, 2, 2, 2}, {88, 111, 107, 107, 110, 93, 96, 94})}},
      {"QLinearConv",
       "com.microsoft",
       {{"channels_last", int64_t{1}}},
       {Make<uint8_t>({1, 2, 3, 2}, {134, 154, 158, 167, 155, 55, 106, 27, 24, 213, 138, 41}),
        Make<float>({}, {0.053F}), Make<uint8_t>({}, {120}),
        Make<int8_t>({2, 2, 2, 2},
                     {23, 41, 16, 52, -15, -21, 36, -56, -37, -37, -13, -42, 36, 42, -14, -57}),
        Make<float>({}, {0.021F}), Make<int8_t>({}, {0}), Make<float>({}, {0.2F}),
        Make<uint8_t>({}, {100}), Make<int32_t>({2}, {-463, 3})},
       {Make<uint8_t>({1, 1, 2, 2}, {23, 108, 154, 100})}},
  };
  for (const Case& c : cases) Check(c);
}

TEST(QLinearTest, Layers) {
  const Case cases[] = {
      {"QAttention",
       "com.microsoft",
       {{"num_heads", int64_t{2}}},
       {Make<uint8_t>({1, 3, 4}, {98, 40, 66, 40, 142, 231, 217, 112, 139, 172, 118, 114}),
        Make<int8_t>({4, 12},
                     {26,  -47, 14,  -40, 53, 21, 59, 14, 27,  -15, 37,  -47, -42, -17, 26,  -2,
                      42,  53,  -12, -9,  6,  18, -2, 12, 55,  28,  -22, -9,  -12, -42, -60, 35,
                      -10, -18, 16,  8,   53, 14, 51, 10, -21, -21, 59,  10,  -38, 40,  39,  -59}),
        Make<float>({12}, {-0.23F, -0.24F, -0.36F, -0.26F, 0.08F, -0.19F, 0.05F, 0.95F, 0.24F,
                           -0.79F, 0.87F, 0.17F}),
        Make<float>({}, {0.013F}), Make<float>({}, {0.011F}), Make<int32_t>({1, 3}, {1, 1, 0}),
        Make<uint8_t>({}, {120}), Make<int8_t>({}, {0})},
       {Make<float>({1, 3, 4}, {0.5077244F, -1.1279707F, 0.76751554F, 0.5497057F, 0.47338897F,
                                -1.0751746F, 0.63406545F, 0.60778844F, 0.49799383F, -1.1130083F,
                                0.6422512F, 0.60422564F})}},
      {"QAttention",
       "com.microsoft",
       {{"num_heads", int64_t{2}}, {"unidirectional", int64_t{1}}, {"scale", 0.3F}},
       {Make<uint8_t>({1, 3, 4}, {187, 56, 26, 79, 216, 127, 168, 14, 30, 178, 128, 190}),
        Make<int8_t>({4, 12},
                     {26,  -47, 14,  -40, 53, 21, 59, 14, 27,  -15, 37,  -47, -42, -17, 26,  -2,
                      42,  53,  -12, -9,  6,  18, -2, 12, 55,  28,  -22, -9,  -12, -42, -60, 35,
                      -10, -18, 16,  8,   53, 14, 51, 10, -21, -21, 59,  10,  -38, 40,  39,  -59}),
        Make<float>({12}, {-0.23F, -0.24F, -0.36F, -0.26F, 0.08F, -0.19F, 0.05F, 0.95F, 0.24F,
                           -0.79F, 0.87F, 0.17F}),
        Make<float>({}, {0.013F}),
        Make<float>({12}, {0.007F, 0.0084F, 0.0143F, 0.0139F, 0.0098F, 0.0095F, 0.0117F, 0.0136F,
                           0.0084F, 0.0129F, 0.009F, 0.0109F}),
        Tensor(), Make<uint8_t>({}, {120}),
        Make<int8_t>({12}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
       {Make<float>({1, 3, 4},
                    {0.6683916F, -1.1430085F, 0.811968F, -0.148825F, 0.7891662F, -1.4971277F,
                     0.8588419F, 0.23020445F, 0.4143046F, -0.9552217F, 0.8345163F, 0.19979508F})}},
      {"QAttention",
       "com.microsoft",
       {{"num_heads", int64_t{2}}, {"unidirectional", int64_t{1}}},
       {Make<uint8_t>({1, 2, 4}, {235, 232, 179, 0, 70, 229, 188, 246}),
        Make<int8_t>({4, 12},
                     {26,  -47, 14,  -40, 53, 21, 59, 14, 27,  -15, 37,  -47, -42, -17, 26,  -2,
                      42,  53,  -12, -9,  6,  18, -2, 12, 55,  28,  -22, -9,  -12, -42, -60, 35,
                      -10, -18, 16,  8,   53, 14, 51, 10, -21, -21, 59,  10,  -38, 40,  39,  -59}),
        Make<float>({12}, {-0.23F, -0.24F, -0.36F, -0.26F, 0.08F, -0.19F, 0.05F, 0.95F, 0.24F,
                           -0.79F, 0.87F, 0.17F}),
        Make<float>({}, {0.013F}), Make<float>({}, {0.011F}), Tensor(), Make<uint8_t>({}, {120}),
        Make<int8_t>({}, {0}),
        Make<float>({2, 1, 2, 2, 2}, {-0.01F, 0.22F, -0.27F, 0.03F, 0.36F, 0.15F, 0.43F, 0.23F,
                                      0.24F, 0.91F, 0.31F, 0.06F, 0.35F, -0.46F, -0.17F, 0.4F})},
       {Make<float>({1, 2, 4}, {0.3402887F, 0.30169106F, 0.33390868F, 0.15275414F, 0.58662015F,
                                -0.47449023F, 0.5672714F, 0.039056808F}),
        Make<float>(
            {2, 1, 2, 4, 2},
            {-0.01F, 0.22F,  -0.27F, 0.03F, 1.883373F,  1.0101991F, -0.13936199F, -0.300825F,
             0.36F,  0.15F,  0.43F,  0.23F, -0.690597F, 1.159781F,  -0.079272F,   1.230137F,
             0.24F,  0.91F,  0.31F,  0.06F, 1.347821F,  -1.586653F, -0.64145195F, 0.14350396F,
             0.35F,  -0.46F, -0.17F, 0.4F,  0.912185F,  0.669213F,  1.432562F,    -0.292176F})}},
      {"QEmbedLayerNormalization",
       "com.microsoft",
       {{"epsilon", 0.00001F}},
       {Make<int32_t>({1, 3}, {1, 0, 2}), Make<int32_t>({1, 3}, {0, 1, 1}),
        Make<uint8_t>({3, 4}, {220, 162, 202, 188, 212, 28, 52, 35, 183, 182, 7, 201}),
        Make<uint8_t>({4, 4},
                      {247, 152, 52, 109, 254, 160, 226, 240, 174, 82, 222, 66, 191, 224, 45, 96}),
        Make<uint8_t>({2, 4}, {212, 235, 53, 223, 125, 39, 239, 180}),
        Make<uint8_t>({4}, {238, 132, 87, 10}), Make<uint8_t>({4}, {148, 83, 117, 87}),
        Make<int32_t>({1, 3}, {1, 1, 0}), Make<float>({}, {0.021F}), Make<float>({}, {0.031F}),
        Make<float>({}, {0.011F}), Make<float>({}, {0.01F}), Make<float>({}, {0.02F}),
        Make<uint8_t>({}, {120}), Make<uint8_t>({}, {130}), Make<uint8_t>({}, {128}),
        Make<uint8_t>({}, {0}), Make<uint8_t>({}, {128})},
       {Make<float>({1, 3, 4},
                    {4.154419F, -0.9520896F, -1.240942F, -0.8564529F, 1.9506495F, -3.1756444F,
                     0.35009F, -0.7782836F, 3.339479F, -2.7586966F, 0.28007576F, -0.86017716F}),
        Make<int32_t>({1}, {2})}},
      {"QEmbedLayerNormalization",
       "com.microsoft",
       {},
       {Make<int32_t>({1, 3}, {1, 0, 2}), Tensor(),
        Make<uint8_t>({3, 4}, {171, 220, 36, 4, 41, 200, 241, 210, 86, 221, 163, 106}),
        Make<uint8_t>({4, 4},
                      {122, 206, 11, 59, 111, 82, 192, 185, 46, 193, 250, 222, 29, 68, 153, 26}),
        Tensor(), Make<uint8_t>({4}, {239, 147, 78, 129}), Make<uint8_t>({4}, {214, 37, 196, 93}),
        Tensor(), Make<float>({}, {0.021F}), Make<float>({}, {0.031F}), Tensor(),
        Make<float>({}, {0.01F}), Make<float>({}, {0.02F}), Make<uint8_t>({}, {120}),
        Make<uint8_t>({}, {130}), Tensor(), Make<uint8_t>({}, {0}), Make<uint8_t>({}, {128})},
       {Make<float>({1, 3, 4},
                    {-0.43220317F, 0.6484928F, 0.9145926F, -0.96794367F, 3.3243346F, -0.46854353F,
                     1.4013067F, -2.820225F, -2.2987719F, -0.8458027F, 2.0127218F, -0.46528128F}),
        Make<int32_t>({1}, {0})}},
  };
  for (const Case& c : cases) Check(c);
}

TEST(QLinearTest, Lstm) {
  const Case cases[] = {
      {"DynamicQuantizeLSTM",
       "com.microsoft",
       {{"hidden_size", int64_t{2}}, {"direction", std::string("forward")}},
       {Make<float>({3, 1, 2}, {-0.21F, -0.25F, 0.8F, -0.4F, -0.13F, -0.14F}),
        Make<int8_t>({1, 2, 8}, {27, -1, -3, -56, 40, 42, -58, 15, 7, -14, -1, 46, 12, -1, 28, 23}),
        Make<int8_t>({1, 2, 8}, {3, 40, 8, 14, -1, 11, 14, 48, -30, -16, 6, -20, 21, 39, -37, -54}),
        Make<float>({1, 16}, {-1.19F, -0.27F, -0.19F, 0.32F, -0.06F, -0.12F, -0.03F, 0.93F, 1.08F,
                              -0.26F, -0.46F, 1.35F, -0.49F, -0.29F, 0.02F, 0.24F}),
        Tensor(), Make<float>({1, 1, 2}, {0.51F, 0.2F}), Make<float>({1, 1, 2}, {-0.44F, 0.25F}),
        Tensor(), Make<float>({1}, {0.011F}), Make<int8_t>({1}, {0}), Make<float>({1}, {0.012F}),
        Make<int8_t>({1}, {0})},
       {Make<float>({3, 1, 1, 2}, {-0.047522284F, 0.36883333F, -0.12772167F, 0.33364907F,
                                   -0.06952543F, 0.34923017F}),
        Make<float>({1, 1, 2}, {-0.06952543F, 0.34923017F}),
        Make<float>({1, 1, 2}, {-0.20313764F, 0.44925785F})}},
      {"DynamicQuantizeLSTM",
       "com.microsoft",
       {{"hidden_size", int64_t{2}}, {"direction", std::string("reverse")}},
       {Make<float>({3, 1, 2}, {0.12F, 0.94F, -0.01F, -0.67F, -0.52F, 0.73F}),
        Make<int8_t>({1, 2, 8},
                     {59, 6, 53, -5, -16, 7, -39, 24, -60, 8, -53, -58, -35, 27, -10, -10}),
        Make<int8_t>({1, 2, 8},
                     {12, -52, 58, -2, 47, 31, -31, -24, 13, 41, 51, -2, -48, 60, 43, 26}),
        Make<float>({1, 16}, {-0.05F, -0.43F, 0, -0.04F, 1.39F, -0.1F, 0.64F, 0.66F, -0.09F, 0.58F,
                              -1.09F, 0.05F, 0.43F, -1.2F, -0.58F, 0.53F}),
        Tensor(), Make<float>({1, 1, 2}, {-0.13F, -0.55F}),
        Make<float>({1, 1, 2}, {-0.19F, -0.27F}), Tensor(), Make<float>({1}, {0.011F}),
        Make<int8_t>({1}, {0}), Make<float>({1}, {0.012F}), Make<int8_t>({1}, {0})},
       {Make<float>({3, 1, 1, 2}, {-0.0016053017F, 0.204636F, -0.012647174F, 0.29083073F,
                                   -0.016440736F, 0.11392258F}),
        Make<float>({1, 1, 2}, {-0.0016053017F, 0.204636F}),
        Make<float>({1, 1, 2}, {-0.008114729F, 0.6606488F})}},
      {"DynamicQuantizeLSTM",
       "com.microsoft",
       {{"hidden_size", int64_t{2}}, {"direction", std::string("bidirectional")}},
       {Make<float>({3, 1, 2}, {0.36F, 0.23F, -0.14F, -0.33F, -0.03F, 0.66F}),
        Make<int8_t>({2, 2, 8},
                     {-13, 27,  -11, -52, 36, 43,  -58, -48, -52, 55, 52, 41, 22,  -49, -29, 2,
                      -2,  -48, -30, 24,  47, -47, 54,  -22, -52, 50, 3,  20, -38, 50,  -12, -15}),
        Make<int8_t>({2, 2, 8},
                     {29,  31, 26, -32, -38, 8,  -20, -56, -9, 33, -14, -11, 22, 57, 35, -43,
                      -20, 5,  -7, -33, -52, 18, -16, -22, 54, 40, 0,   49,  7,  51, 13, -18}),
        Make<float>({2, 16}, {0.37F,  -0.06F, -0.18F, 0.06F,  -0.08F, -0.14F, -0.56F, 0.63F,
                              -0.02F, 0.04F,  0.05F,  -1.18F, 0.26F,  -0.16F, -0.14F, 0.03F,
                              -0.49F, 0.42F,  -0.35F, -0.45F, -0.43F, 0.08F,  0.37F,  -0.3F,
                              -0.76F, 0.53F,  -0.53F, 0.6F,   -0.03F, -0.35F, -0.32F, 0.23F}),
        Tensor(), Make<float>({2, 1, 2}, {0.44F, -0.1F, 0.47F, 1.04F}),
        Make<float>({2, 1, 2}, {-0.1F, -0.57F, -0.53F, -0.7F}), Tensor(),
        Make<float>({2}, {0.011F, 0.011F}), Make<int8_t>({2}, {0, 0}),
        Make<float>({2}, {0.012F, 0.012F}), Make<int8_t>({2}, {0, 0})},
       {Make<float>({3, 2, 1, 2}, {-0.25619087F, -0.02265144F, 0.0037385677F, -0.11334396F,
                                   -0.20270301F, 0.060648672F, -0.020617746F, -0.09489737F,
                                   -0.31196436F, 0.1413279F, -0.04136138F, -0.48162642F}),
        Make<float>({2, 1, 2}, {-0.31196436F, 0.1413279F, 0.0037385677F, -0.11334396F}),
        Make<float>({2, 1, 2}, {-0.65211225F, 0.4673206F, 0.013799511F, -0.20459937F})}},
      {"DynamicQuantizeLSTM",
       "com.microsoft",
       {{"hidden_size", int64_t{2}}, {"clip", 0.5F}},
       {Make<float>({3, 2, 2}, {-0.32F, -0.36F, -0.66F, 0.27F, -1.31F, -0.66F, 1.01F, 0.52F, 0.26F,
                                0.23F, 0.89F, 0.27F}),
        Make<int8_t>({1, 2, 8},
                     {8, 14, -29, -9, -24, -45, 2, -10, -52, -26, 11, -53, -38, -28, -30, 60}),
        Make<int8_t>({1, 2, 8},
                     {48, -20, 11, -7, -31, -41, 24, 26, 60, -18, 48, 51, 36, 38, -20, 12}),
        Tensor(), Make<int32_t>({2}, {3, 3}), Tensor(), Tensor(), Tensor(),
        Make<float>({1, 8},
                    {0.0108F, 0.0059F, 0.0119F, 0.0102F, 0.0102F, 0.0124F, 0.0058F, 0.0071F}),
        Make<int8_t>({1, 8}, {0, 0, 0, 0, 0, 0, 0, 0}),
        Make<float>({1, 8},
                    {0.0149F, 0.008F, 0.0076F, 0.0057F, 0.0081F, 0.0106F, 0.0054F, 0.0079F}),
        Make<int8_t>({1, 8}, {0, 0, 0, 0, 0, 0, 0, 0})},
       {Make<float>({3, 1, 2, 2}, {0.01670112F, -0.03710156F, -0.013960382F, 0.03679977F,
                                   0.046625562F, -0.08266965F, -0.020763703F, 0.042337652F,
                                   0.012451135F, -0.008468085F, -0.018255664F, 0.029302564F}),
        Make<float>({1, 2, 2}, {0.012451135F, -0.008468085F, -0.018255664F, 0.029302564F}),
        Make<float>({1, 2, 2}, {0.026047114F, -0.018538311F, -0.041917518F, 0.065777056F})}},
  };
  for (const Case& c : cases) Check(c);
}

TEST(QLinearTest, LstmOfManyStepsRefusesEmptySequences) {
  constexpr int64_t kSteps = int64_t{1} << 40;
  OpTester op("DynamicQuantizeLSTM", 1, "com.microsoft");
  op.Attribute("hidden_size", int64_t{1}).Input(Make<float>({kSteps, 0, 1}, {}));
  for (int i = 0; i < 2; ++i) op.Input(Make<uint8_t>({1, 1, 4}, {1, 2, 3, 4}));
  for (int i = 0; i < 5; ++i) op.NoInput();
  for (int i = 0; i < 2; ++i) op.Input(Make<float>({1}, {1})).Input(Make<uint8_t>({1}, {0}));
  const auto results = op.Reference();
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].shape(), (Shape{kSteps, 1, 0, 1}));
}

}  // namespace
}  // namespace attnrun::testing
