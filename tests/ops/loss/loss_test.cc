// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

OpTester Likelihood(const std::string& reduction, const std::vector<int64_t>& target) {
  OpTester op("NegativeLogLikelihoodLoss", 22);
  const auto count = static_cast<int64_t>(target.size());
  op.Input(Make<float>({2, 2}, {1, 2, 3, 4})).Input(Make<int64_t>({count}, target));
  op.Input(Make<float>({2}, {10, 1})).Attribute("reduction", reduction);
  return op;
}

void ExpectResult(const OpTester& op, const Tensor& expected) {
  const auto results = op.Reference();
  ASSERT_TRUE(results.ok()) << results.status();
  ExpectClose((*results)[0], expected, 4 * kEpsilon);
}

TEST(LossTest, WeighsTheNumbersOfTheTargets) {
  ExpectResult(Likelihood("none", {0, 1}), Make<float>({2}, {-10, -4}));
  ExpectResult(Likelihood("sum", {0, 1}), Make<float>({}, {-14}));
  ExpectResult(Likelihood("mean", {0, 1}), Make<float>({}, {-14.0F / 11}));
  ExpectResult(Likelihood("mean", {0, -7}).Attribute("ignore_index", int64_t{-7}),
               Make<float>({}, {-1}));
  ExpectResult(Likelihood("mean", {-7, -7}).Attribute("ignore_index", int64_t{-7}),
               Make<float>({}, {std::numeric_limits<float>::quiet_NaN()}));
}

TEST(LossTest, SoftmaxIsOverTheClasses) {
  OpTester op("SoftmaxCrossEntropyLoss", 13);
  op.Input(Make<float>({1, 2, 2}, {0, 1, std::log(3.0F), 1})).Input(Make<int32_t>({1, 2}, {1, 0}));
  op.Attribute("reduction", std::string("none")).Outputs(2);
  ExpectResult(op, Make<float>({1, 2}, {-std::log(0.75F), std::log(2.0F)}));
  ExpectClose(
      op.Reference().value()[1],
      Make<float>({1, 2, 2}, {std::log(0.25F), -std::log(2.0F), std::log(0.75F), -std::log(2.0F)}),
      4 * kEpsilon);
}

TEST(LossTest, ErrorsSayWhatIsWrong) {
  const auto error = [](const OpTester& op) {
    return std::string(op.Reference().status().message());
  };
  EXPECT_THAT(error(Likelihood("sum", {0, 2})), HasSubstr("index 2 is outside"));
  EXPECT_THAT(error(Likelihood("sum", {0})), HasSubstr("found float[2,2] and int64[1]"));
}

}  // namespace
}  // namespace attnrun::testing
