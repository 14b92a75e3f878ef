// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/fused_attention.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The probabilities are softmax([0, 1, sink]) without the last element.
TEST(FusedAttentionSinksTest, ASinkTakesItsShareOfTheSum) {
  for (const double sink : {-2.0, 0.5, 30.0}) {
    OpTester op = TwoKeys().NoInput().NoInput().Input(Make<float>({1}, {static_cast<float>(sink)}));
    const double total = 1 + std::exp(1) + std::exp(sink);
    const auto first = static_cast<float>(1 / total);
    const auto second = static_cast<float>(std::exp(1) / total);
    for (const auto& outputs : {op.Reference().value(), op.Kernel().value()}) {
      ExpectClose(outputs[0], Make<float>({1, 1, 1}, {2 * first + 4 * second}), 8 * kEpsilon);
      ExpectClose(outputs[1], Make<float>({1, 1, 1, 2}, {first, second}), 8 * kEpsilon);
    }
  }
}

TEST(FusedAttentionSinksTest, FullyMaskedRowsWithASink) {
  for (const float masked : {-kInf, std::numeric_limits<float>::lowest()}) {
    for (const float sink : {-3.0F, -kInf, kInf, NAN}) {
      for (const int outputs : {1, 2}) {
        OpTester op = TwoKeys().NoInput().Input(MakeBool({1, 1}, {0})).Outputs(outputs);
        op.Input(Make<float>({1}, {sink})).Attribute("mask_value", masked);
        // If all scores and the sink are -inf, or the sink is +inf or NaN, there is no softmax. If
        // only the sink is -inf, finite mask values give the mean of the values.
        const float alone = masked == -kInf ? NAN : 3.0F;
        const float expected = std::isfinite(sink) ? 0.0F : sink == -kInf ? alone : NAN;
        ExpectClose(op.Reference().value()[0], Make<float>({1, 1, 1}, {expected}), 2 * kEpsilon);
        ExpectClose(op.Kernel().value()[0], Make<float>({1, 1, 1}, {expected}), 2 * kEpsilon);
      }
    }
  }
}

// A sink equals the score of an additional key whose value is 0.
TEST(FusedAttentionSinksTest, SinksActLikeKeysWithoutAValue) {
  std::mt19937 generator(Seed());
  const Tensor q = RandomFloats({2, 4, 70, 8}, generator);
  Tensor k = RandomFloats({2, 2, 131, 8}, generator);
  Tensor v = RandomFloats({2, 2, 131, 8}, generator);
  const Tensor sinks = RandomFloats({4, 1, 1}, generator);
  std::vector<float> bias(4 * 131, 0.0F);
  for (int64_t n = 0; n < 4; ++n) bias[n * 131 + 130] = sinks.data<float>()[n];
  for (int64_t row = 130; row < 4 * 131; row += 131) {
    std::fill_n(k.mutable_data<float>() + row * 8, 8, 0.0F);
    std::fill_n(v.mutable_data<float>() + row * 8, 8, 0.0F);
  }
  const auto without_last = [](const Tensor& x) {
    return x.View({2, 2, 130, 8}, {2 * 131 * 8, 131 * 8, 8, 1}, 0);
  };
  OpTester whole = AttentionTester();
  whole.Input(q).Input(k).Input(v).Input(Make<float>({4, 1, 131}, bias));
  OpTester op = AttentionTester();
  op.Input(q).Input(without_last(k)).Input(without_last(v)).NoInput().NoInput().Input(sinks);
  const Tensor expected = whole.Reference().value()[0];
  ExpectClose(op.Reference().value()[0], expected, AttentionTolerance(expected));
  ExpectClose(op.Kernel().value()[0], expected, AttentionTolerance(expected));
}

}  // namespace
}  // namespace attnrun::testing
