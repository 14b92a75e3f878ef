// SPDX-License-Identifier: Apache-2.0
// attnrun.Experts: values worked out by hand, and the kernel against the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;
using ::testing::HasSubstr;

struct Form {
  const char* activation = "swiglu";
  int64_t fusion = 0;
  // True if there is a layer 3.
  bool third = true;
  bool biased = true;
  int64_t transposed = 0;
  int64_t tokens = 9;
  int64_t k = 2;
  float limit = 0;
  DataType weights = DataType::kFloat;
};
constexpr int64_t kHidden = 32;
constexpr int64_t kInner = 16;
constexpr int64_t kExperts = 5;

void AddLayer(OpTester& op, const Form& f, int64_t k, int64_t n, std::mt19937& generator) {
  const Tensor weight = RandomFloats(f.transposed != 0 ? Ints{n, k} : Ints{k, n}, generator, 0.2F);
  op.Constant(Converted(weight, f.weights));
  if (f.biased) {
    op.Constant(RandomFloats({n}, generator));
  } else {
    op.NoInput();
  }
}

OpTester Random(const Form& f, std::mt19937& generator, DataType type = DataType::kFloat) {
  OpTester op("Experts", 1, "attnrun");
  op.Input(Converted(RandomFloats({f.tokens, kHidden}, generator), type));
  op.Input(RandomInts(DataType::kInt64, {f.tokens, f.k}, generator, 0, kExperts - 1));
  op.Input(Converted(RandomFloats({f.tokens, f.k}, generator), type));
  for (int i = 0; i < kExperts; ++i) {
    AddLayer(op, f, kHidden, f.fusion > 0 ? 2 * kInner : kInner, generator);
    AddLayer(op, f, kInner, kHidden, generator);
    if (f.third) {
      AddLayer(op, f, kHidden, kInner, generator);
    } else if (i + 1 < kExperts) {
      op.NoInput().NoInput();
    }
  }
  op.Attribute("activation_type", std::string(f.activation));
  op.Attribute("activation_alpha", 1.7F).Attribute("activation_beta", 1.0F);
  op.Attribute("swiglu_fusion", f.fusion);
  op.Attribute("trans_w", Ints{f.transposed, f.transposed, f.transposed});
  if (f.limit > 0) op.Attribute("swiglu_limit", f.limit);
  return op;
}

// Experts of one element that multiply by 2 and by 30, the first with a bias.
OpTester Small(const Ints& numbers) {
  OpTester op("Experts", 1, "attnrun");
  op.Input(Make<float>({2, 1}, {1, 2})).Input(Make<int64_t>({2, 2}, numbers));
  op.Input(Make<float>({2, 2}, {1, 10, 100, 1000}));
  op.Input(Make<float>({1, 1}, {2})).Input(Make<float>({1}, {1}));
  op.Input(Make<float>({1, 1}, {1})).NoInput().NoInput().NoInput();
  op.Input(Make<float>({1, 1}, {3})).Input(Make<float>({1}, {0}));
  op.Input(Make<float>({1, 1}, {10}));
  op.Attribute("activation_type", std::string("identity"));
  return op;
}

TEST(RoutedExpertsTest, AddsWhatTheChosenExpertsReturn) {
  // 1 * 3 + 10 * 30 and 100 * 60 + 1000 * 60: an expert may be chosen twice.
  ExpectClose(Small({0, 1, 1, 1}).Reference().value()[0], Make<float>({2, 1}, {303, 66000}), 0);
}

TEST(RoutedExpertsTest, KernelAgreesWithReference) {
  const uint32_t seed = Seed();
  std::mt19937 generator(seed);
  const Form forms[] = {{},
                        {.biased = false, .transposed = 1},
                        {.fusion = 1, .third = false, .limit = 0.5F},
                        {.fusion = 1, .third = false, .transposed = 1},
                        {.fusion = 2, .third = false},
                        {.activation = "silu", .biased = false},
                        {.activation = "gelu", .third = false, .tokens = 1, .k = 5},
                        {.activation = "relu", .k = 0},
                        {.tokens = 0}};
  for (const Form& form : forms) {
    SCOPED_TRACE(std::string(form.activation) + ", fusion " + std::to_string(form.fusion) +
                 ", seed " + std::to_string(seed));
    const OpTester op = Random(form, generator);
    const auto reference = op.Reference();
    ASSERT_TRUE(reference.ok()) << reference.status();
    const auto kernel = op.Kernel();
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    // Sums of 32 products, then of 16, of numbers up to 30.
    ExpectClose((*kernel)[0], (*reference)[0], 1000 * kEpsilon);
  }
}

// Found by the fuzzer of operators: they were read as halves.
TEST(RoutedExpertsTest, WeightsMayBeOfAnyFloats) {
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kDouble, DataType::kFloat8E5M2, DataType::kFloat8E4M3FN}) {
    const OpTester op = Random({.weights = type}, generator);
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 1000 * kEpsilon);
  }
}

TEST(RoutedExpertsTest, TakesHalfPrecision) {
  std::mt19937 generator(Seed());
  const OpTester op = Random({}, generator, DataType::kFloat16);
  ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 2 * Epsilon(DataType::kFloat16));
}

TEST(RoutedExpertsTest, ErrorsSayWhatIsWrong) {
  const auto error = [](const OpTester& op) {
    return std::string(op.Reference().status().message());
  };
  EXPECT_THAT(error(Small({0, 2, 0, 1})), HasSubstr("experts from 0 to 1, but found 2"));
  EXPECT_THAT(error(Small({0, -1, 0, 1})), HasSubstr("experts from 0 to 1, but found -1"));
  OpTester uneven("Experts", 1, "attnrun");
  uneven.Input(Make<float>({1, 1}, {1})).Input(Make<int64_t>({1, 1}, {0}));
  uneven.Input(Make<float>({1, 1}, {1})).Input(Make<float>({1, 1}, {1})).NoInput();
  uneven.Input(Make<float>({1, 1}, {1})).NoInput().NoInput().NoInput();
  uneven.Input(Make<float>({1, 2}, {1, 1})).NoInput().Input(Make<float>({2, 1}, {1, 1}));
  EXPECT_THAT(error(uneven), HasSubstr("those of expert 1 have other sizes"));
}

}  // namespace
}  // namespace attnrun::testing
