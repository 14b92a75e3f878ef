// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/parallel.h"
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

using Ints = std::vector<int64_t>;

// A node whose attributes, extents and optional inputs are drawn at random.
class RandomRecurrent {
 public:
  explicit RandomRecurrent(std::mt19937& generator) : generator_(generator) {}

  int64_t Number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator_);
  }

  OpTester Draw(const std::string& type, DataType element, bool constant) {
    const bool lstm = type == "LSTM";
    const int64_t gates = lstm ? 4 : type == "GRU" ? 3 : 1;
    steps = Number(1, 6);
    width = Number(1, 40);
    hidden = Number(1, 40);
    const int64_t batch = Number(1, 5);
    const int64_t directions = Number(1, 2);
    const bool batch_first = Coin();
    OpTester op(type, 22);
    const std::string one_way = Coin() ? "forward" : "reverse";
    op.Attribute("direction", directions == 2 ? std::string("bidirectional") : one_way);
    op.Attribute("layout", int64_t{batch_first}).Attribute("hidden_size", hidden);
    if (type == "GRU") op.Attribute("linear_before_reset", Number(0, 1));
    if (lstm) op.Attribute("input_forget", Number(0, 1));
    if (Coin()) op.Attribute("clip", 0.75F);
    if (Coin())
      op.Attribute("activations", Functions((lstm ? 3 : type == "GRU" ? 2 : 1) * directions));
    const auto random = [&](const Ints& shape) {
      return Converted(RandomFloats(shape, generator_, 0.3F), element);
    };
    const auto optional = [&](const Ints& shape) {
      if (Coin()) {
        op.Input(random(shape));
      } else {
        op.NoInput();
      }
    };
    op.Input(random(batch_first ? Ints{batch, steps, width} : Ints{steps, batch, width}));
    for (const int64_t depth : {width, hidden}) {
      const Tensor weight = random({directions, gates * hidden, depth});
      constant ? op.Constant(weight) : op.Input(weight);
    }
    optional({directions, 2 * gates * hidden});
    if (Coin()) {
      op.Input(RandomInts(DataType::kInt32, {batch}, generator_, 0, steps));
    } else {
      op.NoInput();
    }
    const Ints state =
        batch_first ? Ints{batch, directions, hidden} : Ints{directions, batch, hidden};
    optional(state);
    if (lstm) {
      optional(state);
      optional({directions, 3 * hidden});
    }
    return op.Outputs(lstm ? 3 : 2);
  }

  int64_t steps = 0;
  int64_t width = 0;
  int64_t hidden = 0;

 private:
  bool Coin() { return Number(0, 1) == 1; }

  std::vector<std::string> Functions(int64_t count) {
    static const std::vector<std::string> kNames = {
        "Tanh",      "Sigmoid",         "Relu",       "Softsign",    "Softplus", "Affine",
        "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"};
    std::vector<std::string> names;
    for (int64_t i = 0; i < count; ++i) {
      names.push_back(kNames[Number(0, static_cast<int64_t>(kNames.size()) - 1)]);
      // A function that jumps would enlarge rounding errors without bound.
      if (names.back() == "ThresholdedRelu") names.back() = "Elu";
    }
    return names;
  }

  std::mt19937& generator_;
};

TEST(RecurrentKernelTest, AgreesWithReference) {
  std::mt19937 generator(Seed());
  RandomRecurrent random(generator);
  for (int i = 0; i < 300; ++i) {
    for (const std::string type : {"LSTM", "GRU", "RNN"}) {
      const DataType element = i % 3 == 0 ? DataType::kFloat16 : DataType::kFloat;
      const OpTester op = random.Draw(type, element, i % 2 == 0);
      const auto expected = op.Reference().value();
      const auto actual = op.Kernel().value();
      // Each step adds the errors of two sums and of some functions, and hands on those of the step
      // before it, enlarged at most by the sum of a row of R and by the state.
      const auto terms = static_cast<double>(random.width + random.hidden + 8);
      const double steps = std::pow(2.0, static_cast<double>(random.steps));
      for (size_t k = 0; k < expected.size(); ++k) {
        ExpectClose(actual[k], expected[k], Epsilon(element) + 2 * kEpsilon * terms * steps);
      }
    }
  }
}

TEST(RecurrentKernelTest, AppliesThresholdedRelu) {
  OpTester op = OneUnit("RNN", 1);
  op.Attribute("activations", std::vector<std::string>{"ThresholdedRelu"}).Outputs(2);
  op.Attribute("activation_alpha", std::vector<float>{2.5F});
  const auto outputs = op.Kernel().value();
  // 1 is below the threshold, and so is 2 + 0.
  ExpectClose(outputs[0], Make<float>({2, 1, 1, 1}, {0, 0}), 0);
  OpTester low = OneUnit("RNN", 1);
  low.Attribute("activations", std::vector<std::string>{"ThresholdedRelu"}).Outputs(1);
  ExpectClose(low.Kernel().value()[0], Make<float>({2, 1, 1, 1}, {1, 3}), 0);
}

TEST(RecurrentKernelTest, BitsDoNotDependOnThreadsOrTheBatch) {
  constexpr int64_t kSteps = 12;
  constexpr int64_t kBatch = 5;
  constexpr int64_t kWidth = 70;
  constexpr int64_t kHidden = 96;
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({kBatch, kSteps, kWidth}, generator);
  for (const std::string type : {"LSTM", "GRU", "RNN"}) {
    const int64_t gates = type == "LSTM" ? 4 : type == "GRU" ? 3 : 1;
    const Tensor w = RandomFloats({2, gates * kHidden, kWidth}, generator, 0.1F);
    const Tensor r = RandomFloats({2, gates * kHidden, kHidden}, generator, 0.1F);
    const auto run = [&](const Tensor& in, int threads) {
      SetNumThreads(threads);
      OpTester op(type, 22);
      op.Attribute("direction", std::string("bidirectional")).Attribute("layout", int64_t{1});
      const Tensor y = op.Input(in).Constant(w).Constant(r).Kernel().value()[0];
      SetNumThreads(1);
      return y;
    };
    const Tensor all = run(x, 1);
    for (const int threads : {2, 4, 9}) ExpectClose(run(x, threads), all, 0);
    for (int64_t b = 0; b < kBatch; ++b) {
      const absl::Span<const float> sample(x.data<float>() + b * kSteps * kWidth, kSteps * kWidth);
      const Tensor y = run(Tensor::Of<float>({1, kSteps, kWidth}, sample).value(), 3);
      EXPECT_EQ(std::memcmp(y.raw(), all.data<float>() + b * y.num_elements(), y.byte_size()), 0);
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
