// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/elements.h"
#include "core/parallel.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// A node whose attributes, extents and optional inputs are drawn at random.
class RandomLstm {
 public:
  explicit RandomLstm(std::mt19937& generator) : generator_(generator) {}

  OpTester Draw(int64_t steps) {
    width = Number(1, 40);
    hidden = Number(1, 40);
    batch = Number(1, 5);
    directions = Number(1, 2);
    OpTester op("DynamicQuantizeLSTM", 1, "com.microsoft");
    const std::string one_way = Coin() ? "forward" : "reverse";
    op.Attribute("direction", directions == 2 ? std::string("bidirectional") : one_way);
    op.Attribute("hidden_size", hidden).Attribute("input_forget", Number(0, 1));
    if (Coin()) op.Attribute("clip", 0.75F);
    const Tensor x = RandomFloats({steps, batch, width}, generator_);
    op.Input(*FromDoubles(x_type, x.shape(), *ToDoubles(x)));
    type_ = Coin() ? DataType::kInt8 : DataType::kUint8;
    for (const int64_t depth : {width, hidden}) op.Constant(Bytes({directions, depth, 4 * hidden}));
    Optional(op, {directions, 8 * hidden});
    Coin() ? op.Input(RandomInts(DataType::kInt32, {batch}, generator_, 0, steps)) : op.NoInput();
    for (int i = 0; i < 2; ++i) Optional(op, {directions, batch, hidden});
    Optional(op, {directions, 3 * hidden});
    for (int i = 0; i < 2; ++i) {
      std::vector<int64_t> columns = {directions};
      if (Coin()) columns.push_back(4 * hidden);
      op.Constant(Scales(columns)).Constant(Bytes(columns));
    }
    return op.Outputs(3);
  }

  int64_t width = 0;
  int64_t hidden = 0;
  int64_t batch = 0;
  int64_t directions = 0;
  DataType x_type = DataType::kFloat;

 private:
  int64_t Number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator_);
  }
  bool Coin() { return Number(0, 1) == 1; }
  Tensor Bytes(const std::vector<int64_t>& shape) {
    const bool is_signed = type_ == DataType::kInt8;
    return RandomInts(type_, shape, generator_, is_signed ? -128 : 0, is_signed ? 127 : 255);
  }
  Tensor Scales(const std::vector<int64_t>& shape) {
    std::uniform_real_distribution<float> distribution(0.001F, 0.002F);
    std::vector<float> scales(shape.size() == 1 ? directions : directions * 4 * hidden);
    for (float& scale : scales) scale = distribution(generator_);
    return Make<float>(shape, scales);
  }
  void Optional(OpTester& op, const std::vector<int64_t>& shape) {
    Coin() ? op.Input(RandomFloats(shape, generator_, 0.3F)) : op.NoInput();
  }

  std::mt19937& generator_;
  DataType type_ = DataType::kInt8;
};

// One step multiplies the same integers, so that only rounding in float is left.
TEST(DynamicQuantizeLstmKernelTest, AStepAgreesWithReference) {
  std::mt19937 generator(Seed());
  RandomLstm random(generator);
  for (int i = 0; i < 300; ++i) {
    const OpTester op = random.Draw(1);
    const auto expected = op.Reference().value();
    const auto actual = op.Kernel().value();
    // The reference adds products in float as well, of numbers up to 4 * 0.5.
    const auto terms = static_cast<double>(random.width + random.hidden + 8);
    for (size_t k = 0; k < 3; ++k) ExpectClose(actual[k], expected[k], 2 * kEpsilon * terms);
  }
}

// A state that differs by a rounding may become another integer, by which a gate changes by up to
// 2 / 255 * 0.5.
TEST(DynamicQuantizeLstmKernelTest, StepsAgreeWithReference) {
  std::mt19937 generator(Seed());
  RandomLstm random(generator);
  for (int i = 0; i < 200; ++i) {
    const OpTester op = random.Draw(1 + i % 5);
    const auto expected = op.Reference().value();
    const auto actual = op.Kernel().value();
    for (size_t k = 0; k < 3; ++k) ExpectClose(actual[k], expected[k], 1.0 / 255);
  }
}

// Found by the fuzzer of operators: the kernel took halves.
TEST(DynamicQuantizeLstmKernelTest, TakesFloatsAlone) {
  std::mt19937 generator(Seed());
  RandomLstm random(generator);
  random.x_type = DataType::kBfloat16;
  const OpTester op = random.Draw(2);
  EXPECT_FALSE(op.Reference().ok());
  EXPECT_FALSE(op.Kernel().ok());
}

TEST(DynamicQuantizeLstmKernelTest, BitsDoNotDependOnThreads) {
  std::mt19937 generator(Seed());
  RandomLstm random(generator);
  for (int i = 0; i < 20; ++i) {
    const OpTester op = random.Draw(4);
    const auto expected = op.Kernel().value();
    SetNumThreads(3);
    const auto actual = op.Kernel().value();
    SetNumThreads(1);
    for (size_t k = 0; k < 3; ++k) ExpectClose(actual[k], expected[k], 0);
  }
}

}  // namespace
}  // namespace attnrun::testing
