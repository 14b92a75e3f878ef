// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/parallel.h"
#include "ops/gemm/activation.h"
#include "support/conv_window.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  // [N, .., C]
  Ints x;
  // [M, C/group, ..]
  Ints w;
  int64_t group = 1;
  Ints strides = {};
  Ints pads = {};
  Ints dilations = {};
  std::string auto_pad = "NOTSET";
};

// How a convolution ends.
struct Ending {
  bool bias = true;
  bool residual = false;
  bool residual_first = false;
  std::string activation = {};
};

OpTester Tester(const Case& c, const Ending& ending = {}) {
  OpTester op("Conv", 1, "attnrun");
  SetWindow(c, op);
  op.Attribute("auto_pad", c.auto_pad);
  op.Attribute("activation", ending.activation);
  op.Attribute("residual_first", int64_t{ending.residual_first});
  return op;
}

// The shape of y, as the reference code computes it.
Ints OutputOf(const Case& c) {
  std::mt19937 generator(1);
  OpTester op = Tester(c);
  op.Input(RandomFloats(c.x, generator)).Constant(RandomFloats(c.w, generator));
  const Tensor y = op.Reference().value()[0];
  return {y.shape().begin(), y.shape().end()};
}

// Gives the node random operands of `type`, of constant weights.
OpTester WithOperands(const Case& c, const Ending& ending, DataType type) {
  std::mt19937 generator(Seed());
  OpTester op = Tester(c, ending);
  op.Input(Converted(RandomFloats(c.x, generator), type));
  op.Constant(Converted(RandomFloats(c.w, generator), type));
  const Tensor bias = Converted(RandomFloats({c.w[0]}, generator), type);
  ending.bias ? op.Constant(bias) : op.NoInput();
  if (ending.residual) op.Input(Converted(RandomFloats(OutputOf(c), generator), type));
  return op;
}

// As for matrix products: the errors of sums are random walks, and the largest error counts.
double Tolerance(const Case& c, DataType type) {
  const Ints kernel(c.w.begin() + 1, c.w.end());
  return Epsilon(type) + 2 * kEpsilon * static_cast<double>(NumElements(kernel).value() + 2);
}

class ChannelsLastConvTest : public ::testing::TestWithParam<Case> {};

TEST_P(ChannelsLastConvTest, KernelAgreesWithReference) {
  const Case& c = GetParam();
  const Ending endings[] = {{.bias = false},
                            {.residual = true},
                            {.residual = true, .activation = "Sigmoid"},
                            {.activation = "Relu"},
                            {.bias = false, .activation = "Clip"},
                            {.residual = true, .activation = "Clip"},
                            {.residual = true, .residual_first = true, .activation = "Relu"},
                            {.bias = false, .residual = true, .residual_first = true}};
  for (const DataType type : {DataType::kFloat, DataType::kBfloat16}) {
    for (const Ending& ending : endings) {
      const OpTester op = WithOperands(c, ending, type);
      const auto kernel = op.Kernel();
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      ExpectClose((*kernel)[0], op.Reference().value()[0], Tolerance(c, type));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ChannelsLastConvTest,
    ::testing::Values(
        // One, two, three and four spatial axes.
        Case{{2, 9, 3}, {4, 3, 3}}, Case{{1, 40, 8}, {50, 8, 3}, 1, {2}, {1, 1}},
        Case{{2, 13, 11, 5}, {7, 5, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}},
        Case{{1, 5, 6, 7, 2}, {40, 2, 2, 3, 2}, 1, {1, 2, 1}, {1, 0, 1, 0, 2, 1}},
        Case{{1, 6, 9, 8, 3}, {5, 3, 3, 3, 3}, 1, {2, 1, 1}},
        Case{{1, 4, 4, 4, 6, 3}, {8, 3, 2, 2, 2, 3}, 1, {2, 1, 2, 2}, {1, 0, 1, 0, 0, 1, 0, 1}},
        // 1x1, with and without a stride.
        Case{{2, 13, 11, 5}, {7, 5, 1, 1}}, Case{{1, 13, 11, 5}, {70, 5, 1, 1}, 1, {2, 2}},
        Case{{1, 7, 6, 5}, {7, 5, 1, 1}, 1, {1, 1}, {1, 0, 0, 2}},
        // Several tiles along lines and rows, sums of several blocks, several panels.
        Case{{1, 700, 12}, {130, 12, 5}, 1, {1}, {2, 2}},
        Case{{1, 40, 70, 20}, {100, 20, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}},
        Case{{1, 9, 10, 300}, {70, 300, 3, 3}, 1, {2, 2}, {1, 1, 1, 1}},
        Case{{1, 6, 5, 1000}, {20, 1000, 3, 2}, 1, {1, 1}, {1, 0, 1, 1}},
        // Dilations, uneven padding, padding beyond the input, auto_pad.
        Case{{1, 20, 19, 16}, {65, 16, 3, 3}, 1, {1, 2}, {1, 0, 2, 3}, {2, 1}},
        Case{{1, 20, 19, 16}, {65, 16, 3, 3}, 1, {1, 1}, {3, 3, 3, 3}, {3, 3}},
        Case{{1, 3, 2, 4}, {6, 4, 2, 3}, 1, {1, 1}, {5, 6, 4, 7}},
        Case{{1, 7, 8, 2}, {3, 2, 3, 4}, 1, {2, 3}, {}, {}, "SAME_UPPER"},
        Case{{1, 7, 8, 2}, {3, 2, 3, 4}, 1, {2, 3}, {}, {}, "SAME_LOWER"},
        Case{{1, 7, 8, 2}, {3, 2, 3, 4}, 1, {2, 3}, {}, {}, "VALID"},
        // Groups, some with several features per channel; no images.
        Case{{1, 10, 9, 6}, {12, 3, 3, 2}, 2, {2, 1}, {0, 1, 2, 0}, {1, 3}},
        Case{{2, 9, 10, 48}, {150, 16, 3, 3}, 3, {1, 1}, {1, 1, 1, 1}},
        Case{{1, 12, 12, 32}, {64, 1, 3, 3}, 32, {1, 1}, {1, 1, 1, 1}}, Case{{0, 9, 3}, {4, 3, 3}},
        // Depthwise: several vectors of channels; strides; dilations; windows cut by the padding or
        // within it; chains of additions in one line and over several; one and three axes.
        Case{{2, 15, 14, 100}, {100, 1, 7, 7}, 100, {1, 1}, {3, 3, 3, 3}},
        Case{{1, 15, 30, 35}, {35, 1, 3, 3}, 35, {2, 2}, {1, 1, 1, 1}},
        Case{{1, 12, 31, 16}, {16, 1, 5, 5}, 16, {1, 2}, {4, 2, 4, 2}, {2, 1}},
        Case{{1, 3, 2, 4}, {4, 1, 2, 3}, 4, {1, 1}, {5, 6, 4, 7}},
        Case{{1, 20, 20, 3}, {3, 1, 15, 13}, 3, {1, 1}, {7, 6, 7, 6}},
        Case{{1, 700, 3}, {3, 1, 600}, 3, {1}, {10, 0}},
        Case{{1, 5, 9, 8, 6}, {6, 1, 3, 3, 3}, 6, {1, 1, 1}, {1, 1, 1, 1, 1, 1}}));

TEST(ChannelsLastConvTest, NanStaysNanWhereSumsAreClamped) {
  // A convolution of each element with 1.
  for (const Case& c : {Case{{1, 1, 3, 1}, {1, 1, 1, 1}}, Case{{1, 1, 3, 2}, {2, 1, 1, 1}, 2}}) {
    for (const char* activation : {"Relu", "Clip"}) {
      OpTester op = Tester(c, {.activation = activation});
      const std::vector<float> values = {NAN, -0.0F, -1, NAN, -0.0F, 0.5F};
      op.Input(Make<float>(c.x, {values.begin(), values.begin() + 3 * c.x[3]}));
      op.Constant(Make<float>(c.w, std::vector<float>(c.w[0], 1)));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 0);
    }
  }
}

TEST(ChannelsLastConvTest, EveryActivationAgreesWithReference) {
  const Case cases[] = {{{2, 9, 21, 5}, {50, 5, 3, 3}}, {{2, 9, 21, 35}, {35, 1, 3, 3}, 35}};
  for (const auto& [activation, function] : ops::kActivations) {
    for (const Case& c : cases) {
      for (const bool first : {false, true}) {
        SCOPED_TRACE(activation);
        const OpTester op = WithOperands(
            c, {.residual = true, .residual_first = first, .activation = std::string(activation)},
            DataType::kFloat);
        ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                    Tolerance(c, DataType::kFloat));
      }
    }
  }
}

TEST(ChannelsLastConvTest, ActivationsHaveParameters) {
  OpTester op = Tester({}, {.activation = "Clip"});
  op.Attribute("activation_alpha", -1.0F).Attribute("activation_beta", 2.0F);
  op.Input(Make<float>({1, 4, 1}, {-4, -0.25F, 1, 3})).Constant(Make<float>({1, 1, 1}, {1}));
  ExpectClose(op.Reference().value()[0], Make<float>({1, 4, 1}, {-1, -0.25F, 1, 2}), 0);
  ExpectClose(op.Kernel().value()[0], Make<float>({1, 4, 1}, {-1, -0.25F, 1, 2}), 0);
}

TEST(ChannelsLastConvTest, ReferenceAddsInOrder) {
  for (const bool first : {false, true}) {
    OpTester op = Tester({}, {.residual_first = first, .activation = "Relu"});
    op.Attribute("pads", Ints{1, 0});
    // Channels (1, 2), (3, 4), (5, 6).
    op.Input(Make<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6}));
    op.Input(Make<float>({1, 2, 2}, {1, -1, 10, -10}));
    op.Input(Make<float>({1}, {1})).Input(Make<float>({1, 3, 1}, {2, -100, 50}));
    // x[l-1] (1, 10) - x[l] (1, 10): -20, -19, -19; then the bias.
    const Tensor expected =
        first ? Make<float>({1, 3, 1}, {0, 0, 29}) : Make<float>({1, 3, 1}, {2, -100, 50});
    ExpectClose(op.Reference().value()[0], expected, 0);
  }
}

TEST(ChannelsLastConvTest, BitsDoNotDependOnThreadsOrTheBatch) {
  const Case kinds[] = {{{3, 30, 30, 64}, {64, 64, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}},
                        {{3, 700, 20}, {130, 20, 3}, 1, {2}, {1, 1}},
                        {{3, 12, 12, 96}, {96, 24, 3, 3}, 4},
                        {{3, 28, 28, 96}, {96, 1, 5, 5}, 96, {1, 1}, {2, 2, 2, 2}},
                        {{3, 31, 30, 16}, {80, 16, 1, 1}}};
  const int before = NumThreads();
  for (const Case& c : kinds) {
    std::mt19937 generator(1);
    const Tensor x = RandomFloats(c.x, generator);
    const Tensor w = RandomFloats(c.w, generator);
    const auto run = [&](const Tensor& images, int threads) {
      SetNumThreads(threads);
      OpTester op = Tester(c, {.activation = "Silu"});
      return op.Input(images).Constant(w).Kernel().value()[0];
    };
    const Tensor alone = run(x, 1);
    for (const int threads : {2, 3, 8}) ExpectClose(run(x, threads), alone, 0);
    const int64_t size = x.num_elements() / c.x[0];
    Ints shape = c.x;
    shape[0] = 1;
    for (int64_t i = 0; i < c.x[0]; ++i) {
      const Tensor y = run(
          Tensor::Borrow(DataType::kFloat, shape, x.data<float>() + i * size, size * sizeof(float))
              .value(),
          2);
      EXPECT_EQ(std::memcmp(y.raw(), alone.data<float>() + i * y.num_elements(), y.byte_size()), 0);
    }
  }
  SetNumThreads(before);
}

TEST(ChannelsLastConvTest, AnInfiniteElementOnlyAffectsItsWindows) {
  for (const Case& c : {Case{{1, 60, 30}, {70, 30, 3}, 1, {1}, {1, 1}},
                        Case{{1, 60, 30}, {30, 1, 3}, 30, {1}, {1, 1}}}) {
    std::mt19937 generator(1);
    Tensor x = RandomFloats(c.x, generator);
    const Tensor w = RandomFloats(c.w, generator);
    x.mutable_data<float>()[int64_t{59} * 30 + 29] = std::numeric_limits<float>::infinity();
    OpTester op = Tester(c);
    const Tensor y = op.Input(x).Constant(w).Kernel().value()[0];
    const int64_t features = c.w[0];
    for (int64_t i = 0; i < 58 * features; ++i) EXPECT_TRUE(std::isfinite(y.data<float>()[i]));
    EXPECT_TRUE(std::isinf(y.data<float>()[60 * features - 1]));
  }
}

std::string Message(const Case& c, const Ints& residual = {}) {
  std::mt19937 generator(1);
  OpTester op = Tester(c);
  op.Input(RandomFloats(c.x, generator)).Constant(RandomFloats(c.w, generator));
  if (!residual.empty()) op.NoInput().Input(RandomFloats(residual, generator));
  EXPECT_FALSE(op.Kernel().ok());
  return std::string(op.Reference().status().message());
}

TEST(ChannelsLastConvTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(
      Message({{1, 5, 4}, {3, 2, 2}}),
      "expected X [N, .., C] and W [M, C/group, ..] with C and M multiples of group, but X is "
      "float[1,5,4], W is float[3,2,2] and group is 1");
  EXPECT_EQ(Message({{1, 5, 2}, {3, 2, 2}}, {1, 5, 3}),
            "expected a residual of shape [1,4,3], but found float[1,5,3]");
  EXPECT_EQ(Message({{1, 5, 2}, {3, 2, 6}}),
            "a kernel that reaches over 6 elements does not fit spatial axis 0 of 5 elements and "
            "padding of 0");
}

TEST(ChannelsLastConvTest, KernelMakesNoAbsurdCopies) {
  constexpr int64_t kFar = 1 << 28;
  std::mt19937 generator(1);
  OpTester op = Tester({{1, 2, 64}, {3, 64, 3}, 1, {1}, {kFar, kFar}, {kFar}});
  op.Input(RandomFloats({1, 2, 64}, generator)).Constant(RandomFloats({3, 64, 3}, generator));
  EXPECT_EQ(op.Kernel().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(op.Reference().value()[0].shape(), Shape({1, 2, 3}));
}

}  // namespace
}  // namespace attnrun::testing
