// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

// One unit, one input, weights of 1 and no bias, so that the cell can be computed by hand.
OpTester OneUnit(const std::string& type, int64_t gates) {
  OpTester op(type, 22);
  op.Input(Make<float>({2, 1, 1}, {1, 2}));
  op.Input(Make<float>({1, gates, 1}, std::vector<float>(gates, 1)));
  op.Input(Make<float>({1, gates, 1}, std::vector<float>(gates, 1)));
  return op;
}

float Sigmoid(double x) { return static_cast<float>(1 / (1 + std::exp(-x))); }

TEST(RecurrentTest, RnnFollowsTheFormula) {
  const auto outputs = OneUnit("RNN", 1).Outputs(2).Reference().value();
  const double first = std::tanh(1.0);
  const double second = std::tanh(2.0 + first);
  ExpectClose(outputs[0],
              Make<float>({2, 1, 1, 1}, {static_cast<float>(first), static_cast<float>(second)}),
              kEpsilon);
  ExpectClose(outputs[1], Make<float>({1, 1, 1}, {static_cast<float>(second)}), kEpsilon);
}

TEST(RecurrentTest, GruAndLstmStartFromZeroState) {
  const double z = Sigmoid(1);
  const auto gru = OneUnit("GRU", 3).Outputs(1).Reference().value();
  EXPECT_NEAR(gru[0].data<float>()[0], (1 - z) * std::tanh(1.0), 4 * kEpsilon);
  const auto lstm = OneUnit("LSTM", 4).Outputs(3).Reference().value();
  const double cell = z * std::tanh(1.0);
  EXPECT_NEAR(lstm[0].data<float>()[0], z * std::tanh(cell), 4 * kEpsilon);
}

TEST(RecurrentTest, ReverseReadsTheSequenceFromItsEnd) {
  OpTester op = OneUnit("RNN", 1);
  op.Attribute("direction", std::string("reverse")).Outputs(2);
  const auto outputs = op.Reference().value();
  EXPECT_NEAR(outputs[0].data<float>()[1], std::tanh(2.0), kEpsilon);
  EXPECT_NEAR(outputs[1].data<float>()[0], std::tanh(1.0 + std::tanh(2.0)), kEpsilon);
}

TEST(RecurrentTest, ErrorsSayWhatIsWrong) {
  OpTester unknown = OneUnit("RNN", 1);
  unknown.Attribute("activations", std::vector<std::string>{"Cosh"});
  EXPECT_THAT(unknown.Reference().status().message(), HasSubstr("activation 'Cosh' is unknown"));
  OpTester count = OneUnit("GRU", 3);
  count.Attribute("activations", std::vector<std::string>{"Tanh"});
  EXPECT_THAT(count.Reference().status().message(), HasSubstr("expected 2 activations"));
  EXPECT_THAT(OneUnit("LSTM", 3).Reference().status().message(), HasSubstr("expected W of shape"));
  OpTester lengths = OneUnit("RNN", 1);
  lengths.NoInput().Input(Make<int32_t>({1}, {3}));
  EXPECT_THAT(lengths.Reference().status().message(), HasSubstr("[0,2]"));
}

}  // namespace
}  // namespace attnrun::testing
