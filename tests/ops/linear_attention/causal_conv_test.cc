// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

struct Sizes {
  int64_t batch = 2;
  int64_t channels = 3;
  int64_t length = 20;
  int64_t taps = 4;
  int64_t dilation = 1;
  int64_t window = 0;
  bool past = true;
  bool bias = true;
  bool channels_last = false;
};

OpTester Random(const Sizes& s, const std::string& activation, std::mt19937& generator,
                DataType type = DataType::kFloat) {
  OpTester op("CausalConvWithState", 1, "com.microsoft");
  const auto random = [&](const std::vector<int64_t>& shape) {
    return Converted(RandomFloats(shape, generator), type);
  };
  const auto shape = [&](int64_t length) {
    return s.channels_last ? std::vector<int64_t>{s.batch, length, s.channels}
                           : std::vector<int64_t>{s.batch, s.channels, length};
  };
  std::vector<int64_t> state = shape((s.taps - 1) * s.dilation);
  if (s.window > 0) state.insert(state.begin(), s.window);
  op.Input(random(shape(s.length))).Input(random({s.channels, 1, s.taps}));
  s.bias ? op.Input(random({s.channels})) : op.NoInput();
  if (s.past) op.Input(random(state));
  op.Attribute("activation", activation).Attribute("dilation", s.dilation).Outputs(2);
  op.Attribute("channels_last", int64_t{s.channels_last}).Attribute("state_window", s.window);
  return op;
}

TEST(CausalConvTest, GivesValuesComputedByHand) {
  OpTester op("CausalConvWithState", 27);
  op.Input(Make<float>({1, 1, 3}, {1, 2, 3})).Input(Make<float>({1, 1, 2}, {10, 1}));
  op.Input(Make<float>({1}, {0.5F})).Input(Make<float>({1, 1, 1}, {4})).Outputs(2);
  for (const auto& results : {op.Reference(), op.Kernel()}) {
    ASSERT_TRUE(results.ok()) << results.status();
    ExpectClose((*results)[0], Make<float>({1, 1, 3}, {41.5F, 12.5F, 23.5F}), 0);
    ExpectClose((*results)[1], Make<float>({1, 1, 1}, {3}), 0);
  }
}

TEST(CausalConvTest, KernelAgreesWithReference) {
  const uint32_t seed = Seed();
  std::mt19937 generator(seed);
  const Sizes sizes[] = {{},
                         {.channels = 70, .length = 1},
                         {.length = 2, .past = false},
                         {.length = 0},
                         {.taps = 1},
                         {.length = 5, .dilation = 3},
                         {.window = 3},
                         {.length = 2, .window = 5, .past = false},
                         {.past = false, .bias = false}};
  for (Sizes size : sizes) {
    for (const bool channels_last : {false, true}) {
      for (const char* activation : {"none", "silu"}) {
        SCOPED_TRACE(std::string(activation) + ", length " + std::to_string(size.length) +
                     (channels_last ? ", channels last" : "") + ", seed " + std::to_string(seed));
        size.channels_last = channels_last;
        const OpTester op = Random(size, activation, generator);
        const auto reference = op.Reference();
        ASSERT_TRUE(reference.ok()) << reference.status();
        const auto kernel = op.Kernel().value();
        // Five terms below 10.
        ExpectClose(kernel[0], (*reference)[0], 50 * kEpsilon);
        ExpectClose(kernel[1], (*reference)[1], 0);
      }
    }
  }
}

TEST(CausalConvTest, TakesHalfPrecision) {
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    const OpTester op = Random({}, "silu", generator, type);
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 2 * Epsilon(type));
  }
}

TEST(CausalConvTest, ErrorsSayWhatIsWrong) {
  std::mt19937 generator(Seed());
  const auto error = [](const OpTester& op) {
    return std::string(op.Reference().status().message());
  };
  EXPECT_THAT(error(Random({.window = 9}, "none", generator)), HasSubstr("but found 1 and 9"));
  EXPECT_THAT(error(Random({}, "none", generator).Attribute("dilation", int64_t{2})),
              HasSubstr("past_state of the type of x and shape [2,3,6]"));
  EXPECT_THAT(error(Random({}, "none", generator).Attribute("dilation", int64_t{1} << 62)),
              HasSubstr("more elements than 64 bits"));
  EXPECT_THAT(error(Random({}, "none", generator).Attribute("ndim", int64_t{2})),
              HasSubstr("ndim"));
}

}  // namespace
}  // namespace attnrun::testing
