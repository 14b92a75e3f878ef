// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's quantized operators and the standard operators of its QOperator format, compared
// with the results of ONNX Runtime 1.31.
#include <gtest/gtest.h>

#include "optimizer/rules/stored_cases.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

void CheckGroup(const char* group) { CheckStoredCases(ATTNRUN_QLINEAR_CASES, group); }

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
