// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

OpTester NBitLinearTester() {
  OpTester op("Linear", 1, "attnrun");
  op.Attribute("format", std::string("nbit"));
  return op;
}

// One of the weights: its number of columns, and whether it has zero points.
struct Part {
  int64_t columns;
  bool zero_points;
};

struct Case {
  int64_t m;
  int64_t k;
  int64_t bits;
  int64_t block;
  std::vector<Part> parts;
  const char* activation;
  // Empty if there is no residual.
  std::vector<int64_t> residual;
  DataType type = DataType::kFloat;

  int64_t n() const {
    int64_t sum = 0;
    for (const Part& part : parts) sum += part.columns;
    return sum;
  }
};

class Draw {
 public:
  explicit Draw(const Case& c) : case_(c), generator_(Seed()) {}

  OpTester Node() {
    OpTester op = NBitLinearTester();
    op.Attribute("K", case_.k).Attribute("bits", case_.bits).Attribute("block_size", case_.block);
    if (*case_.activation != 0) op.Attribute("activation", std::string(case_.activation));
    op.Input(Converted(RandomFloats({case_.m, case_.k}, generator_), case_.type));
    op.Constant(Codes(case_.parts[0]));
    op.Constant(RandomFloats({case_.n()}, generator_));
    case_.residual.empty() ? op.NoInput() : op.Input(RandomFloats(case_.residual, generator_));
    AddScales(op, case_.parts[0]);
    for (size_t i = 1; i < case_.parts.size(); ++i) {
      op.Constant(Codes(case_.parts[i]));
      AddScales(op, case_.parts[i]);
    }
    return op;
  }

 private:
  int64_t Blocks() const { return (case_.k + case_.block - 1) / case_.block; }

  Tensor Codes(const Part& part) {
    return RandomInts(DataType::kUint8, {part.columns, Blocks(), case_.block * case_.bits / 8},
                      generator_, 0, 255);
  }
  void AddScales(OpTester& op, const Part& part) {
    op.Constant(RandomFloats({part.columns, Blocks()}, generator_, 0.01F));
    if (!part.zero_points) {
      op.NoInput();
      return;
    }
    const int64_t bytes = (Blocks() * case_.bits + 7) / 8;
    op.Constant(RandomInts(DataType::kUint8, {part.columns, bytes}, generator_, 0, 255));
  }

  const Case& case_;
  std::mt19937 generator_;
};

TEST(NBitLinearTest, KernelAgreesWithReference) {
  const Case cases[] = {
      {1, 64, 4, 32, {{40, false}}, "", {}},
      {3, 64, 4, 32, {{40, false}, {8, false}, {8, false}}, "Silu", {3, 56}},
      {33, 70, 4, 16, {{25, true}, {7, false}}, "Gelu", {32}},
      {5, 128, 8, 64, {{24, false}, {24, true}}, "Relu", {5, 1}},
      {2, 48, 2, 16, {{30, true}, {31, true}}, "", {1, 61}},
      {4, 64, 4, 32, {{40, false}, {9, true}}, "Silu", {49}, DataType::kFloat16},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.m << " " << c.k << " " << c.bits << " " << c.n());
    const OpTester op = Draw(c).Node();
    const auto expected = op.Reference();
    const auto actual = op.Kernel();
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    // A sum of K products, each rounded, of rounded weights.
    ExpectClose((*actual)[0], (*expected)[0],
                static_cast<double>(c.k) * kEpsilon + 2 * Epsilon(c.type));
  }
}

// Side by side, each weight gives the same bits as alone.
TEST(NBitLinearTest, SideBySideEachWeightKeepsItsBits) {
  const Case both = {7, 64, 4, 32, {{40, false}, {9, true}}, "", {}};
  std::mt19937 generator(3);
  const Tensor x = RandomFloats({7, 64}, generator);
  std::vector<Tensor> weights;
  for (const Part& part : both.parts) {
    weights.push_back(RandomInts(DataType::kUint8, {part.columns, 2, 16}, generator, 0, 255));
    weights.push_back(RandomFloats({part.columns, 2}, generator, 0.01F));
  }
  const auto run = [&](bool with_first, bool with_second) {
    OpTester op = NBitLinearTester();
    op.Attribute("K", int64_t{64}).Attribute("block_size", int64_t{32});
    const size_t one = with_first ? 0 : 2;
    op.Input(x).Constant(weights[one]).NoInput().NoInput().Constant(weights[one + 1]).NoInput();
    if (with_first && with_second) op.Constant(weights[2]).Constant(weights[3]).NoInput();
    return op.Kernel().value()[0];
  };
  const Tensor merged = run(true, true);
  const Tensor left = merged.View({7, 40}, {49, 1}, 0).Dense(Allocator::Heap()).value();
  const Tensor right = merged.View({7, 9}, {49, 1}, 40).Dense(Allocator::Heap()).value();
  ExpectClose(left, run(true, false), 0);
  ExpectClose(right, run(false, true), 0);
}

TEST(NBitLinearTest, ErrorsSayWhatIsWrong) {
  struct Wrong {
    size_t input;
    Tensor tensor;
    const char* message;
  };
  const Tensor codes = Make<uint8_t>({2, 1, 8}, std::vector<uint8_t>(16, 1));
  const Wrong cases[] = {
      {0, Make<float>({1, 3}, {1, 2, 3}), "expected X to be floats with rows of shape [16]"},
      {0, Make<int32_t>({1}, {1}), "expected input 0 to be floats, but it is int32[1]"},
      {1, Make<uint8_t>({2, 2, 8}, std::vector<uint8_t>(32)), "expected B to be uint8[2,1,8]"},
      {2, Make<float>({3}, {1, 2, 3}), "expected bias of shape [4], but it is float[3]"},
      {3, Make<float>({3}, {1, 2, 3}), "residual [3] does not broadcast to Y[1,4]"},
      {4, Make<float>({3}, {1, 2, 3}), "expected scales to be floats [2,1]"},
      {4, Tensor(), "expected scales to be floats [2,1]"},
      {5, Make<uint8_t>({3}, {1, 2, 3}), "expected zero_points to be uint8[2,1]"},
      {7, Tensor(), "expected scales to be floats [2,1]"},
  };
  for (const Wrong& wrong : cases) {
    const Tensor scales = Make<float>({2, 1}, {1, 1});
    std::vector<Tensor> inputs = {
        Make<float>({1, 16}, std::vector<float>(16, 1)), codes, {}, {}, scales, {}, codes, scales};
    inputs[wrong.input] = wrong.tensor;
    OpTester op = NBitLinearTester();
    op.Attribute("K", int64_t{16}).Attribute("block_size", int64_t{16});
    for (const Tensor& input : inputs) input.defined() ? op.Input(input) : op.NoInput();
    const auto result = op.Reference();
    ASSERT_FALSE(result.ok()) << wrong.message;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(wrong.message));
  }
}

}  // namespace
}  // namespace attnrun::testing
