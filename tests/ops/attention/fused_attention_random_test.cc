// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/parallel.h"
#include "support/fused_attention.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// Draws the sizes, layouts and masks of a random attention.
struct Random {
  explicit Random(std::mt19937& g) : generator(g) {}
  int64_t Below(int64_t n) { return static_cast<int64_t>(generator() % static_cast<uint64_t>(n)); }
  template <typename T>
  T OneOf(std::vector<T> values) {
    return values[Below(static_cast<int64_t>(values.size()))];
  }
  std::mt19937& generator;
};

// A layout and the shape of a tensor in that layout.
struct Laid {
  std::string layout;
  std::vector<int64_t> shape;
};
Laid RandomLayout(Random& random, int64_t b, int64_t s, int64_t n, int64_t h) {
  const std::string heads = absl::StrCat("(n:", n, " h:", h, ")");
  const std::vector<Laid> all = {
      {"b n s h", {b, n, s, h}},
      {"b s n h", {b, s, n, h}},
      {"b n h s", {b, n, h, s}},
      {absl::StrCat("b s ", n * h, "+", heads), {b, s, 3 * n * h}},
      {absl::StrCat("b s ", h, "+(n:", n, " _:3 h:", h, ")"), {b, s, n * 3 * h}},
      {absl::StrCat("(b n:", n, ") s h"), {b * n, s, h}},
      {"1+(_:3) b n s h", {3, b, n, s, h}},
      {absl::StrCat("b 2+() s (n:", n, " h)"), {b, 4, s, n * h}},
      {absl::StrCat("h s (b n:", n, ")"), {h, s, b * n}},
  };
  return random.OneOf(all);
}

// A shape that broadcasts to `full`.
std::vector<int64_t> RandomBroadcast(Random& random, std::vector<int64_t> full) {
  for (int64_t& extent : full) {
    if (random.Below(2) == 0) extent = 1;
  }
  if (random.Below(3) == 0) full.erase(full.begin());
  return full;
}

// With `bf16`, q, k and v are numbers that bf16 holds, and the scale is a power of two, so that the
// products of q and k are exact in bf16, too.
OpTester RandomAttention(Random& random, int outputs, bool bf16 = false) {
  const int64_t b = random.OneOf<int64_t>({1, 2, 3});
  const int64_t s = random.OneOf<int64_t>({1, 1, 2, 7, 40, 70});
  const int64_t t = random.OneOf<int64_t>({1, 2, 9, 64, 65, 130, 200});
  const int64_t nkv = random.OneOf<int64_t>({1, 2, 3});
  const int64_t nq = nkv * random.OneOf<int64_t>({1, 1, 2, 4});
  const int64_t h = random.OneOf<int64_t>({1, 5, 8, 20, 32, 64});
  const int64_t hv = random.OneOf<int64_t>({h, 1, 7, 24, 40});
  // A tensor of one sample serves all samples.
  const auto samples = [&] { return random.Below(8) == 0 ? 1 : b; };
  const Laid q = RandomLayout(random, samples(), s, nq, h);
  const Laid k = RandomLayout(random, samples(), t, nkv, h);
  const Laid v = RandomLayout(random, samples(), t, nkv, hv);
  OpTester op = WithLayouts(q.layout, k.layout, v.layout);
  const DataType type = !bf16 && random.Below(4) == 0 ? DataType::kFloat16 : DataType::kFloat;
  for (const Laid& laid : {q, k, v}) {
    Tensor x = RandomFloats(laid.shape, random.generator);
    if (bf16) x = Converted(x, DataType::kBfloat16);
    op.Input(Converted(x, type));
  }
  if (random.Below(2) == 0) {
    op.Input(RandomFloats(RandomBroadcast(random, {b, nq, s, t}), random.generator));
  } else {
    op.NoInput();
  }
  if (random.Below(2) == 0) {
    // In some draws few keys are unmasked, so that some rows and tiles have none.
    const int64_t high = random.OneOf<int64_t>({1, 1, 20});
    const std::vector<int64_t> shape = RandomBroadcast(random, {b, nq, s, t});
    std::vector<int> unmasked(NumElements(shape).value());
    for (int& bit : unmasked) bit = random.Below(high + 1) == 0 ? 1 : 0;
    op.Input(MakeBool(shape, unmasked));
  } else {
    op.NoInput();
  }
  if (random.Below(3) == 0) {
    const Tensor sinks = RandomFloats(RandomBroadcast(random, {b, nq, s, 1}), random.generator);
    op.Input(Converted(sinks, type));
  }
  op.Attribute("scale", bf16 ? 0.25F : 1 / std::sqrt(static_cast<float>(h)));
  op.Attribute("softcap", random.OneOf<float>({0, 0, 0, 3}));
  op.Attribute("mask_value", random.OneOf<float>({-std::numeric_limits<float>::infinity(), -1e9F,
                                                  std::numeric_limits<float>::lowest(), -3}));
  op.Attribute("bias_on_masked", random.OneOf<int64_t>({0, 0, 1}));
  op.Attribute("masked_row", random.OneOf<std::string>({"nan", "zero", "guarded"}));
  op.Attribute("causal", random.OneOf<int64_t>({0, 0, 1, 2}));
  op.Attribute("left_window", random.OneOf<int64_t>({-1, -1, 0, 30}));
  op.Attribute("right_window", random.OneOf<int64_t>({-1, -1, 0, 70}));
  return op.Outputs(outputs);
}

TEST(FusedAttentionRandomTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  Random random(generator);
  for (int i = 0; i < 150; ++i) {
    SCOPED_TRACE(i);
    for (const int outputs : {1, 2}) {
      const OpTester op = RandomAttention(random, outputs);
      const auto kernel = op.Kernel();
      const auto reference = op.Reference();
      ASSERT_TRUE(reference.ok()) << reference.status();
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      for (int output = 0; output < outputs; ++output) {
        ExpectClose((*kernel)[output], (*reference)[output],
                    AttentionTolerance((*reference)[output]));
      }
      if (HasFailure()) return;
    }
  }
}

// Where the machine has no unit for bf16, these are float products.
TEST(FusedAttentionRandomTest, Bf16KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  Random random(generator);
  for (int i = 0; i < 150; ++i) {
    SCOPED_TRACE(i);
    const OpTester op = RandomAttention(random, 1, /*bf16=*/true).In(Precision::kBfloat16);
    const Tensor expected = op.Reference().value()[0];
    // The weights of each row are rounded to bf16, each by 2^-9 of itself at most; values are at
    // most about 5.
    ExpectClose(op.Kernel().value()[0], expected, AttentionTolerance(expected) + 5 * 0x1p-9);
    if (HasFailure()) return;
  }
}

void ExpectSameBitsForAnyThreads(unsigned seed, Precision precision) {
  std::mt19937 generator(seed);
  Random random(generator);
  const int threads = NumThreads();
  for (int i = 0; i < 20; ++i) {
    const OpTester op = RandomAttention(random, 1 + i % 2).In(precision);
    SetNumThreads(1);
    const std::vector<Tensor> one = op.Kernel().value();
    SetNumThreads(2);
    const std::vector<Tensor> two = op.Kernel().value();
    for (size_t output = 0; output < one.size(); ++output) {
      EXPECT_EQ(std::memcmp(one[output].raw(), two[output].raw(), one[output].byte_size()), 0);
    }
  }
  SetNumThreads(threads);
}

TEST(FusedAttentionRandomTest, BitsDoNotDependOnThreads) {
  ExpectSameBitsForAnyThreads(Seed(), Precision::kFloat32);
  // With this seed, tiles that look masked matter to some rows of a block but not to all of them.
  ExpectSameBitsForAnyThreads(786737271, Precision::kFloat32);
}

TEST(FusedAttentionRandomTest, BitsOfBf16DoNotDependOnThreads) {
  ExpectSameBitsForAnyThreads(Seed(), Precision::kBfloat16);
  ExpectSameBitsForAnyThreads(786737271, Precision::kBfloat16);
}

}  // namespace
}  // namespace attnrun::testing
