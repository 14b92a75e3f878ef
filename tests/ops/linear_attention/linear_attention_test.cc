// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/parallel.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Floats = std::vector<float>;
using ::testing::HasSubstr;

struct Sizes {
  int64_t batch = 2;
  int64_t tokens = 5;
  int64_t query_heads = 2;
  int64_t heads = 2;
  int64_t key = 8;
  int64_t value = 6;
  int64_t window = 0;
  // 0: as many as the state.
  int64_t key_heads = 0;
  bool past = true;
  bool decay_per_key = false;
  bool beta_per_head = true;
};

// Keys are shrunk, so that the delta rules do not blow up.
OpTester Random(const std::string& rule, const Sizes& s, std::mt19937& generator,
                DataType type = DataType::kFloat) {
  OpTester op("LinearAttention", 1, "com.microsoft");
  const auto add = [&](int64_t width, float scale) {
    op.Input(Converted(RandomFloats({s.batch, s.tokens, width}, generator, scale), type));
  };
  add(s.query_heads * s.key, 1);
  add((s.key_heads > 0 ? s.key_heads : s.heads) * s.key, 0.3F);
  add(s.heads * s.value, 1);
  std::vector<int64_t> state = {s.batch, s.heads, s.key, s.value};
  if (s.window > 0) state.insert(state.begin(), s.window);
  s.past ? op.Input(RandomFloats(state, generator)) : op.NoInput();
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  gated ? add(s.heads * (s.decay_per_key ? s.key : 1), 0.2F) : void(op.NoInput());
  if (delta) add(s.beta_per_head ? s.heads : 1, 0.5F);
  op.Attribute("update_rule", rule).Outputs(2).Attribute("state_window", s.window);
  op.Attribute("q_num_heads", s.query_heads).Attribute("kv_num_heads", s.heads);
  return op;
}

TEST(LinearAttentionTest, GivesValuesComputedByHand) {
  // One head of two keys and one value: after token 1 S is (1, 0) (2 - 0) / 2 = (1, 0); it halves,
  // token 2 reads 1/2 + 0 by its key (1, 1), and adds (1, 1) (3 - 1/2) to it: S = (3, 5/2).
  OpTester op("LinearAttention", 27);
  op.Input(Make<float>({1, 2, 2}, {1, 1, 1, 2})).Input(Make<float>({1, 2, 2}, {1, 0, 1, 1}));
  op.Input(Make<float>({1, 2, 1}, {2, 3})).NoInput();
  op.Input(Make<float>({1, 2, 1}, {0, std::log(0.5F)})).Input(Make<float>({1, 2, 1}, {0.5F, 1}));
  op.Attribute("q_num_heads", int64_t{1}).Attribute("kv_num_heads", int64_t{1});
  op.Attribute("scale", 1.0F).Outputs(2);
  for (const auto& results : {op.Reference(), op.Kernel()}) {
    ASSERT_TRUE(results.ok()) << results.status();
    ExpectClose((*results)[0], Make<float>({1, 2, 1}, {1, 8}), 4 * kEpsilon);
    ExpectClose((*results)[1], Make<float>({1, 1, 2, 1}, {3, 2.5F}), 4 * kEpsilon);
  }
}

TEST(LinearAttentionTest, KernelAgreesWithReference) {
  const uint32_t seed = Seed();
  std::mt19937 generator(seed);
  const Sizes sizes[] = {{},
                         {.tokens = 1},
                         {.tokens = 0},
                         {.query_heads = 6, .key = 5, .value = 33},
                         {.query_heads = 2, .heads = 4, .key = 7, .value = 70},
                         {.past = false, .decay_per_key = true},
                         {.decay_per_key = true, .beta_per_head = false},
                         {.heads = 4, .key_heads = 2},
                         {.window = 3},
                         {.tokens = 2, .window = 4, .past = false}};
  for (const Sizes& size : sizes) {
    for (const char* rule : {"linear", "gated", "delta", "gated_delta"}) {
      SCOPED_TRACE(std::string(rule) + ", tokens " + std::to_string(size.tokens) + ", seed " +
                   std::to_string(seed));
      const OpTester op = Random(rule, size, generator);
      const auto reference = op.Reference();
      ASSERT_TRUE(reference.ok()) << reference.status();
      const auto kernel = op.Kernel().value();
      // Sums of 8 keys over up to 5 tokens, of numbers up to 10.
      for (int i = 0; i < 2; ++i) ExpectClose(kernel[i], (*reference)[i], 200 * kEpsilon);
    }
  }
}

TEST(LinearAttentionTest, TakesHalfPrecisionBesideAFloatState) {
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    const OpTester op = Random("gated_delta", {}, generator, type);
    const auto reference = op.Reference().value();
    const auto kernel = op.Kernel().value();
    EXPECT_EQ(kernel[1].type(), DataType::kFloat);
    ExpectClose(kernel[0], reference[0], 2 * Epsilon(type));
    ExpectClose(kernel[1], reference[1], 200 * kEpsilon);
  }
}

TEST(LinearAttentionTest, ThreadsDoNotChangeTheBits) {
  std::mt19937 generator(Seed());
  const OpTester op = Random("gated_delta", {.value = 70}, generator);
  const auto alone = op.Kernel().value();
  SetNumThreads(3);
  const auto together = op.Kernel().value();
  SetNumThreads(1);
  for (int i = 0; i < 2; ++i) ExpectClose(together[i], alone[i], 0);
}

TEST(LinearAttentionTest, ErrorsSayWhatIsWrong) {
  std::mt19937 generator(Seed());
  const auto error = [](const OpTester& op) {
    return std::string(op.Reference().status().message());
  };
  OpTester linear = Random("linear", {}, generator);
  EXPECT_THAT(error(linear.Attribute("update_rule", std::string("gated"))),
              HasSubstr("expected decay only with a gated update_rule"));
  EXPECT_THAT(error(Random("linear", {.query_heads = 3}, generator)),
              HasSubstr("heads that are multiples of each other"));
  EXPECT_THAT(error(Random("linear", {.window = 9}, generator)),
              HasSubstr("state_window of 0 to 8, but found 9"));
  OpTester state("LinearAttention", 27);
  state.Input(RandomFloats({1, 1, 4}, generator)).Input(RandomFloats({1, 1, 4}, generator));
  state.Input(RandomFloats({1, 1, 4}, generator)).Input(RandomFloats({1, 1, 4, 3}, generator));
  state.Attribute("update_rule", std::string("linear")).Outputs(2);
  state.Attribute("q_num_heads", int64_t{1}).Attribute("kv_num_heads", int64_t{1});
  EXPECT_THAT(error(state), HasSubstr("past_state of floats [1,1,4,4], but found float[1,1,4,3]"));
}

}  // namespace
}  // namespace attnrun::testing
