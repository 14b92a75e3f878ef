// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's quantized operators and the standard operators of its QOperator format, compared
// with the results of ONNX Runtime 1.31.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "optimizer/rules/quantization/qlinear_cases.h"
#include "support/op_tester.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

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

void CheckReference(const QLinearCase& c) {
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
void CheckRewrite(const QLinearCase& c) {
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

void CheckGroup(const std::string& group) {
  const std::vector<QLinearCase> cases = ReadQLinearCases(group);
  EXPECT_FALSE(cases.empty()) << group;
  for (const QLinearCase& c : cases) {
    SCOPED_TRACE(c.op_type);
    CheckReference(c);
    CheckRewrite(c);
  }
}

TEST(QLinearTest, Elementwise) { CheckGroup("Elementwise"); }
TEST(QLinearTest, Pooling) { CheckGroup("Pooling"); }
TEST(QLinearTest, Products) { CheckGroup("Products"); }
TEST(QLinearTest, Layers) { CheckGroup("Layers"); }
TEST(QLinearTest, Lstm) { CheckGroup("Lstm"); }

TEST(QLinearTest, LstmOfManyStepsEndsForAnEmptyBatch) {
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
