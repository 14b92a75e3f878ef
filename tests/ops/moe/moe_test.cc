// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts, where ONNX Runtime, whose results contrib_cases.txt holds, has no code for
// CPUs, and the kernel against the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/parallel.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;
using ::testing::HasSubstr;

struct Form {
  const char* activation = "silu";
  int64_t fusion = 0;
  bool third = false;
  int64_t tokens = 9;
  int64_t k = 2;
  // 0: floats.
  int64_t bits = 0;
  int64_t block = 0;
  bool zero_points = false;
  float limit = 0;
  int64_t hidden = 32;
  int64_t inner = 16;
  int64_t experts = 5;
};

Tensor Codes(const Ints& shape, std::mt19937& generator) {
  return RandomInts(DataType::kUint8, shape, generator, 0, 255);
}

// The inputs of a layer with codes, but for the zero points.
void AddCodes(OpTester& op, const Form& f, int64_t n, int64_t k, std::mt19937& generator) {
  op.Constant(Codes({f.experts, n, k * f.bits / 8}, generator));
  Ints scales = {f.experts, n};
  if (f.block > 0) scales.push_back(k / f.block);
  op.Constant(RandomFloats(scales, generator, 0.02F));
  op.Constant(RandomFloats({f.experts, n}, generator));
}

void AddFloats(OpTester& op, const Form& f, int64_t n, int64_t k, std::mt19937& generator) {
  op.Constant(RandomFloats({f.experts, n, k}, generator, 0.2F));
  op.Constant(RandomFloats({f.experts, n}, generator));
}

Tensor ZeroPoints(const Form& f, int64_t n, int64_t k, std::mt19937& generator) {
  if (f.block == 0) return Codes({f.experts, (n * f.bits + 7) / 8}, generator);
  return Codes({f.experts, n, (k / f.block * f.bits + 7) / 8}, generator);
}

OpTester Random(const Form& f, std::mt19937& generator, DataType type = DataType::kFloat) {
  OpTester op(f.bits > 0 ? "QMoE" : "MoE", 1, "com.microsoft");
  op.Input(Converted(RandomFloats({f.tokens, f.hidden}, generator), type));
  op.Input(RandomFloats({f.tokens, f.experts}, generator));
  const int64_t first = f.fusion > 0 ? 2 * f.inner : f.inner;
  const auto add = f.bits > 0 ? AddCodes : AddFloats;
  add(op, f, first, f.hidden, generator);
  add(op, f, f.hidden, f.inner, generator);
  if (f.third) add(op, f, f.inner, f.hidden, generator);
  if (f.zero_points) {
    for (int i = 0; !f.third && i < 3; ++i) op.NoInput();
    op.Constant(ZeroPoints(f, first, f.hidden, generator));
    op.Constant(ZeroPoints(f, f.hidden, f.inner, generator));
    if (f.third) op.Constant(ZeroPoints(f, f.inner, f.hidden, generator));
  }
  op.Attribute("k", f.k).Attribute("activation_type", std::string(f.activation));
  op.Attribute("swiglu_fusion", f.fusion).Attribute("normalize_routing_weights", int64_t{1});
  op.Attribute("activation_alpha", 1.7F).Attribute("activation_beta", 1.0F);
  if (f.limit > 0) op.Attribute("swiglu_limit", f.limit);
  if (f.bits > 0) op.Attribute("expert_weight_bits", f.bits);
  if (f.block > 0) op.Attribute("block_size", f.block);
  return op;
}

// Experts of one element: layer 1 doubles and triples, layer 3 adds, and layer 2 takes it all.
TEST(MoeTest, LayerThreeIsAFactor) {
  OpTester op("MoE", 1, "com.microsoft");
  op.Input(Make<float>({2, 1}, {1, 2})).Input(Make<float>({2, 2}, {9, 0, 0, 9}));
  op.Input(Make<float>({2, 1, 1}, {2, 3})).NoInput();
  op.Input(Make<float>({2, 1, 1}, {1, 10})).Input(Make<float>({2, 1}, {0.5F, 0}));
  op.Input(Make<float>({2, 1, 1}, {1, 1})).Input(Make<float>({2, 1}, {4, 5}));
  op.Attribute("activation_type", std::string("identity"));
  op.Attribute("normalize_routing_weights", int64_t{1});
  // 2 * 5 + 0.5 and 6 * 7 * 10.
  ExpectClose(op.Reference().value()[0], Make<float>({2, 1}, {10.5F, 420}), 4 * kEpsilon);
}

TEST(MoeTest, KernelAgreesWithReference) {
  const uint32_t seed = Seed();
  std::mt19937 generator(seed);
  const Form forms[] = {
      {},
      {.activation = "relu", .tokens = 1, .k = 5},
      {.activation = "gelu", .third = true},
      {.activation = "swiglu", .third = true, .limit = 0.5F},
      {.activation = "swiglu", .fusion = 1, .limit = 0.5F},
      {.activation = "swiglu", .fusion = 2},
      {.tokens = 0},
      {.activation = "swiglu", .fusion = 1, .bits = 4},
      {.activation = "swiglu", .fusion = 1, .bits = 4, .block = 16},
      {.activation = "swiglu", .fusion = 1, .bits = 8, .block = 16, .zero_points = true},
      {.activation = "swiglu", .fusion = 2, .bits = 4, .zero_points = true},
      {.third = true, .bits = 8, .zero_points = true},
      {.third = true, .bits = 2, .block = 16, .zero_points = true}};
  for (const Form& form : forms) {
    SCOPED_TRACE(std::string(form.activation) + ", fusion " + std::to_string(form.fusion) +
                 ", bits " + std::to_string(form.bits) + ", seed " + std::to_string(seed));
    const OpTester op = Random(form, generator);
    const auto reference = op.Reference();
    ASSERT_TRUE(reference.ok()) << reference.status();
    const auto kernel = op.Kernel();
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    // Sums of 32 products, then of 16, of numbers up to 30.
    ExpectClose((*kernel)[0], (*reference)[0], 1000 * kEpsilon);
  }
}

TEST(MoeTest, TakesHalfPrecision) {
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    const OpTester op = Random({}, generator, type);
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 2 * Epsilon(type));
  }
}

TEST(MoeTest, ThreadsDoNotChangeTheBits) {
  std::mt19937 generator(Seed());
  const OpTester op = Random({.activation = "swiglu", .fusion = 1}, generator);
  const auto alone = op.Kernel().value();
  SetNumThreads(3);
  const auto together = op.Kernel().value();
  SetNumThreads(1);
  ExpectClose(together[0], alone[0], 0);
}

TEST(MoeTest, ErrorsSayWhatIsWrong) {
  std::mt19937 generator(Seed());
  const auto error = [&](const Form& form) {
    return std::string(Random(form, generator).Reference().status().message());
  };
  EXPECT_THAT(error({.k = 6}), HasSubstr("expected k from 1 to the 5 experts, but found 6"));
  EXPECT_THAT(error({.activation = "swiglu"}), HasSubstr("but found 0 without it"));
  EXPECT_THAT(error({.activation = "swiglu", .fusion = 1, .third = true}),
              HasSubstr("but found 1 with it"));
  EXPECT_THAT(error({.bits = 4, .block = 24}), HasSubstr("in blocks of 24"));
  EXPECT_THAT(error({.bits = 3}), HasSubstr("of 3 bits"));
}

}  // namespace
}  // namespace attnrun::testing
