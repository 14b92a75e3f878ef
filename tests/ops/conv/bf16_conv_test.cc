// SPDX-License-Identifier: Apache-2.0
// Convolutions in bf16.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "core/parallel.h"
#include "ops/tensors/cpu.h"
#include "support/conv_window.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  // Its domain is attnrun if channels are last.
  std::string op;
  Ints x;
  Ints w;
  int64_t group = 1;
  Ints strides = {};
  Ints pads = {};
  Ints dilations = {};
  std::string activation = {};
  bool residual_first = false;

  bool is_last() const { return op == "ChannelsLast"; }
};

OpTester Tester(const Case& c) {
  OpTester op(c.is_last() ? "Conv" : c.op, c.is_last() ? 1 : 11, c.is_last() ? "attnrun" : "");
  SetWindow(c, op);
  if (!c.activation.empty()) op.Attribute("activation", c.activation);
  if (c.residual_first) op.Attribute("residual_first", int64_t{1});
  return op.In(Precision::kBfloat16);
}

Tensor Rounded(const Tensor& x) {
  return Converted(Converted(x, DataType::kBfloat16), DataType::kFloat);
}

struct Operands {
  Tensor x;
  Tensor w;
  Tensor bias;
  // Undefined for none.
  Tensor residual;
};

OpTester With(const Case& c, const Operands& operands) {
  OpTester op = Tester(c);
  op.Input(operands.x).Constant(operands.w).Constant(operands.bias);
  if (operands.residual.defined()) op.Input(operands.residual);
  return op;
}

Operands Random(const Case& c) {
  std::mt19937 generator(Seed());
  Operands operands;
  operands.x = RandomFloats(c.x, generator);
  operands.w = RandomFloats(c.w, generator);
  const int64_t features = c.op == "ConvTranspose" ? c.w[1] * c.group : c.w[0];
  operands.bias = RandomFloats({features}, generator);
  if (c.residual_first) {
    const Shape y = With(c, operands).Reference().value()[0].shape();
    operands.residual = RandomFloats({y.begin(), y.end()}, generator);
  }
  return operands;
}

class Bf16ConvTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!ops::ThisCpu().amx_bf16) GTEST_SKIP() << "needs AMX";
  }
};

// Products of rounded numbers are exact, so that sums are as far off as those of floats.
TEST_P(Bf16ConvTest, AgreesWithTheReferenceOnRoundedOperands) {
  const Case& c = GetParam();
  Operands operands = Random(c);
  const Tensor y = With(c, operands).Kernel().value()[0];
  operands.x = Rounded(operands.x);
  operands.w = Rounded(operands.w);
  // As for matrix products: the errors of sums are random walks, and the largest error counts.
  const auto depth = static_cast<double>(operands.w.num_elements()) / static_cast<double>(c.w[0]);
  const double activation = c.activation.empty() ? 0 : 1.0 / (1 << 14);
  ExpectClose(y, With(c, operands).Reference().value()[0],
              kEpsilon + 2 * kEpsilon * (depth + 2) + activation);
}

TEST_P(Bf16ConvTest, BitsDoNotDependOnThreadsOrTheBatch) {
  const Case& c = GetParam();
  const Operands operands = Random(c);
  const int before = NumThreads();
  SetNumThreads(1);
  const Tensor alone = With(c, operands).Kernel().value()[0];
  for (const int threads : {2, 3, 8}) {
    SetNumThreads(threads);
    ExpectClose(With(c, operands).Kernel().value()[0], alone, 0);
  }
  SetNumThreads(before);
  if (operands.residual.defined()) return;
  const int64_t size = operands.x.num_elements() / c.x[0];
  Operands one = operands;
  Ints shape = c.x;
  shape[0] = 1;
  for (int64_t i = 0; i < c.x[0]; ++i) {
    one.x = Tensor::Borrow(DataType::kFloat, shape, operands.x.data<float>() + i * size,
                           size * sizeof(float))
                .value();
    const Tensor y = With(c, one).Kernel().value()[0];
    EXPECT_EQ(std::memcmp(y.raw(), alone.data<float>() + i * y.num_elements(), y.byte_size()), 0);
  }
}

TEST_P(Bf16ConvTest, AnInfiniteElementOnlyAffectsItsWindows) {
  const Case& c = GetParam();
  Operands operands = Random(c);
  const Tensor kernel = With(c, operands).Kernel().value()[0];
  const Tensor reference = With(c, operands).Reference().value()[0];
  const int64_t last = operands.x.num_elements() - 1;
  operands.x.mutable_data<float>()[last] = std::numeric_limits<float>::infinity();
  const Tensor kernel_then = With(c, operands).Kernel().value()[0];
  const Tensor reference_then = With(c, operands).Reference().value()[0];
  for (int64_t i = 0; i < kernel.num_elements(); ++i) {
    const float then = reference_then.data<float>()[i];
    ASSERT_EQ(std::isfinite(kernel_then.data<float>()[i]), std::isfinite(then)) << i;
    if (then != reference.data<float>()[i]) continue;
    ASSERT_EQ(kernel_then.data<float>()[i], kernel.data<float>()[i]) << i;
  }
}

TEST(Bf16ConvOfStoredWeightsTest, RoundsWithoutBeingAsked) {
  if (!ops::ThisCpu().amx_bf16) GTEST_SKIP() << "needs AMX";
  const Case c = {"Conv", {1, 40, 20, 20}, {33, 40, 3, 3}};
  const Operands operands = Random(c);
  const auto run = [&](Precision precision) {
    OpTester op = Tester(c).In(precision);
    for (const Tensor& tensor : {operands.x, operands.w, operands.bias}) {
      op.Constant(Converted(tensor, DataType::kBfloat16));
    }
    return op.Kernel().value()[0];
  };
  ExpectClose(run(Precision::kFloat32), run(Precision::kBfloat16), 0);
  EXPECT_EQ(run(Precision::kFloat32).type(), DataType::kBfloat16);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Bf16ConvTest,
    ::testing::Values(
        // One to three spatial axes; channels that fill steps of a tile, and others.
        Case{"ChannelsLast", {2, 40, 8}, {50, 8, 3}, 1, {2}, {1, 1}},
        Case{"ChannelsLast", {2, 13, 11, 5}, {17, 5, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}},
        Case{"ChannelsLast", {1, 5, 6, 7, 2}, {40, 2, 2, 3, 2}, 1, {1, 2, 1}, {1, 0, 1, 0, 2, 1}},
        Case{"ChannelsLast", {1, 40, 35, 64}, {100, 64, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}},
        Case{"ChannelsLast", {1, 9, 10, 300}, {70, 300, 3, 3}, 1, {2, 2}, {1, 1, 1, 1}},
        Case{"ChannelsLast", {2, 13, 11, 33}, {16, 33, 1, 1}, 1, {2, 2}},
        // Dilations, and windows within the padding.
        Case{"ChannelsLast", {1, 20, 19, 16}, {65, 16, 3, 3}, 1, {1, 2}, {1, 0, 2, 3}, {2, 1}},
        Case{"ChannelsLast", {1, 3, 2, 4}, {16, 4, 2, 3}, 1, {1, 1}, {5, 6, 4, 7}},
        // Groups, activations, a residual.
        Case{"ChannelsLast", {2, 9, 10, 48}, {150, 16, 3, 3}, 3, {1, 1}, {1, 1, 1, 1}},
        Case{"ChannelsLast", {1, 12, 12, 32}, {64, 16, 3, 3}, 2, {}, {}, {}, "Gelu"},
        Case{"ChannelsLast", {1, 30, 12, 32}, {64, 32, 3, 3}, 1, {}, {}, {}, "Relu", true},
        // Channels first.
        Case{"Conv", {2, 80, 300}, {96, 80, 3}, 1, {2}, {1, 1}},
        Case{"Conv", {2, 3, 30, 31}, {33, 3, 7, 7}, 1, {4, 4}, {3, 3, 3, 3}},
        Case{"Conv", {1, 70, 60, 50}, {40, 70, 1, 1}},
        Case{"Conv", {2, 32, 20, 20}, {64, 8, 3, 3}, 4, {1, 1}, {1, 1, 1, 1}, {2, 2}},
        Case{"Conv", {1, 96, 90}, {96, 24, 16}, 4, {1}, {8, 8}},
        Case{"Conv", {1, 1, 40, 60, 70}, {16, 1, 3, 3, 3}, 1, {2, 2, 2}},
        Case{"ConvTranspose", {2, 24, 10, 11}, {24, 20, 4, 4}, 1, {2, 2}, {1, 1, 1, 1}},
        Case{"ConvTranspose", {1, 32, 9}, {32, 16, 3}, 2, {1}, {1, 1}}));

}  // namespace
}  // namespace attnrun::testing
