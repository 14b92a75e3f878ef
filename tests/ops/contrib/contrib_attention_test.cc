// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's attention operators. The queries are zeros, which attend to all unmasked keys
// alike, so each result is the mean of the unmasked values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/any_type.h"
#include "support/contrib.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Zeros(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return Make<float>(shape, std::vector<float>(count, 0));
}

// One head of one channel; the values are the 4 tokens of x plus a bias.
OpTester Packed() {
  OpTester op("Attention", 1, kMicrosoft);
  op.Attribute("num_heads", int64_t{1});
  op.Input(Make<float>({1, 4, 1}, {2, 4, 6, 8})).Input(Make<float>({1, 3}, {0, 0, 1}));
  op.Input(Make<float>({3}, {0, 5, 1}));
  return op;
}

TEST(PackedAttentionTest, AddsTheBiasAndAveragesUnmaskedValues) {
  ExpectClose(Reference(Packed()), Make<float>({1, 4, 1}, {6, 6, 6, 6}), kEpsilon);
  OpTester causal = Packed();
  causal.Attribute("unidirectional", int64_t{1});
  ExpectClose(Reference(causal), Make<float>({1, 4, 1}, {3, 4, 5, 6}), kEpsilon);
}

TEST(PackedAttentionTest, AcceptsMasksOfAllForms) {
  const std::pair<Tensor, std::vector<float>> cases[] = {
      {Make<int32_t>({1, 4}, {1, 0, 0, 1}), {6, 6, 6, 6}},
      {Make<int32_t>({1}, {2}), {4, 4, 4, 4}},
      {Make<int32_t>({2}, {3, 1}), {6, 6, 6, 6}},
      {Make<int32_t>({1, 4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}), {3, 5, 7, 9}},
      // A mask of zeros adds the same number to all keys.
      {Make<int32_t>({1, 4}, {0, 0, 0, 0}), {6, 6, 6, 6}},
  };
  for (const auto& [mask, expected] : cases) {
    OpTester op = Packed();
    op.Input(mask);
    ExpectClose(Reference(op), Make<float>({1, 4, 1}, expected), kEpsilon);
  }
  OpTester other = Packed();
  other.Input(Make<int32_t>({1, 3}, {1, 1, 1}));
  EXPECT_THAT(other.Reference().status().message(), HasSubstr("expected a mask int32[1,4]"));
}

TEST(PackedAttentionTest, PrependsThePast) {
  OpTester op = Packed();
  op.Attribute("unidirectional", int64_t{1}).NoInput().Outputs(2);
  op.Input(Make<float>({2, 1, 1, 1, 1}, {7, 9}));
  ExpectClose(Reference(op), Make<float>({1, 4, 1}, {6, 17.0F / 3, 6, 6.6F}), kEpsilon);
  ExpectClose(Reference(op, 1), Make<float>({2, 1, 1, 5, 1}, {7, 5, 5, 5, 5, 9, 3, 5, 7, 9}), 0);
}

TEST(PackedAttentionTest, UnsupportedFormsAreRefused) {
  OpTester rotary = Packed();
  rotary.Attribute("do_rotary", int64_t{1});
  EXPECT_THAT(rotary.Reference().status().message(),
              HasSubstr("'do_rotary' is only covered if it is 0"));
  OpTester buffer = Packed();
  buffer.NoInput().NoInput().NoInput().Input(Make<int32_t>({1}, {1}));
  EXPECT_THAT(buffer.Reference().status().message(), HasSubstr("input 6, past_sequence_length"));
}

TEST(MultiHeadAttentionTest, AcceptsOperandsOfAllForms) {
  // Two heads of one channel and two keys; the first head has the values 1 and 3, the second 10 and
  // 30.
  const Tensor q = Zeros({1, 1, 2});
  const Tensor rows = Make<float>({1, 2, 2}, {1, 10, 3, 30});
  const Tensor heads = Make<float>({1, 2, 2, 1}, {1, 3, 10, 30});
  const Tensor both = Make<float>({1, 2, 2, 2, 1}, {0, 1, 0, 10, 0, 3, 0, 30});
  const Tensor all = Make<float>({1, 2, 2, 3, 1}, {0, 0, 1, 0, 0, 10, 0, 0, 3, 0, 0, 30});
  const std::vector<Tensor> cases[] = {{q, rows, rows}, {q, heads, heads}, {q, both}, {all}};
  for (const std::vector<Tensor>& operands : cases) {
    OpTester op("MultiHeadAttention", 1, kMicrosoft);
    op.Attribute("num_heads", int64_t{2}).Outputs(3);
    for (const Tensor& operand : operands) op.Input(operand);
    const bool one = operands.size() > 1;
    ExpectClose(Reference(op),
                one ? Make<float>({1, 1, 2}, {2, 20}) : Make<float>({1, 2, 2}, {2, 20, 2, 20}),
                kEpsilon);
    ExpectClose(Reference(op, 2), heads, 0);
  }
}

TEST(MultiHeadAttentionTest, AppliesBiasMaskAndPast) {
  OpTester op("MultiHeadAttention", 1, kMicrosoft);
  op.Attribute("num_heads", int64_t{1}).Outputs(3);
  op.Input(Zeros({1, 2, 1})).Input(Zeros({1, 2, 1})).Input(Make<float>({1, 2, 1}, {1, 3}));
  op.Input(Make<float>({3}, {0, 4, 10})).Input(Make<int32_t>({1, 3}, {0, 1, 1})).NoInput();
  op.Input(Make<float>({1, 1, 1, 1}, {100})).Input(Make<float>({1, 1, 1, 1}, {500}));
  ExpectClose(Reference(op), Make<float>({1, 2, 1}, {12, 12}), kEpsilon);
  ExpectClose(Reference(op, 1), Make<float>({1, 1, 3, 1}, {100, 4, 4}), 0);
  op.Attribute("unidirectional", int64_t{1});
  ExpectClose(Reference(op), Make<float>({1, 2, 1}, {11, 12}), kEpsilon);
}

TEST(MultiHeadAttentionTest, CausalNeedsAsManyQueriesAsKeys) {
  OpTester op("MultiHeadAttention", 1, kMicrosoft);
  op.Attribute("num_heads", int64_t{1}).Attribute("unidirectional", int64_t{1});
  op.Input(Zeros({1, 1, 1})).Input(Zeros({1, 2, 1})).Input(Zeros({1, 2, 1}));
  EXPECT_THAT(op.Reference().status().message(), HasSubstr("there are 1 and 2"));
}

// Two query heads share one key/value head of two channels. Rotary embedding turns keys at odd
// positions by a right angle. The first channel of a value identifies its token.
struct Cache {
  int64_t past = 0;
  std::vector<int32_t> last = {};
  int32_t total = 0;
  // First channels of the new values, sample by sample.
  std::vector<float> values = {};
};

OpTester Grouped(const Cache& cache) {
  const auto batch = static_cast<int64_t>(cache.last.size());
  const auto given = static_cast<int64_t>(cache.values.size()) / batch;
  std::vector<float> v;
  std::vector<float> k;
  for (const float value : cache.values) {
    v.insert(v.end(), {value, 0});
    k.insert(k.end(), {1, 2});
  }
  // The past values are 101, 102, ...
  std::vector<float> past;
  for (int64_t i = 0; i < batch * cache.past; ++i) {
    past.insert(past.end(), {101.0F + i % cache.past, 0});
  }
  OpTester op("GroupQueryAttention", 1, kMicrosoft);
  op.Attribute("num_heads", int64_t{2}).Attribute("kv_num_heads", int64_t{1}).Outputs(3);
  op.Input(Zeros({batch, given, 4})).Input(Make<float>({batch, given, 2}, k));
  op.Input(Make<float>({batch, given, 2}, v));
  op.Input(Make<float>({batch, 1, cache.past, 2}, past));
  op.Input(Make<float>({batch, 1, cache.past, 2}, past));
  op.Input(Make<int32_t>({batch}, cache.last)).Input(Make<int32_t>({}, {cache.total}));
  return op;
}

// The channels of both heads; the second channel of each is 0.
Tensor Means(int64_t batch, const std::vector<float>& means) {
  std::vector<float> elements;
  for (const float mean : means) elements.insert(elements.end(), {mean, 0, mean, 0});
  return Make<float>({batch, static_cast<int64_t>(means.size()) / batch, 4}, elements);
}

TEST(GroupQueryAttentionTest, PaddedPromptSeesItsOwnTokens) {
  const OpTester op = Grouped({0, {2, 0}, 3, {1, 3, 8, 5, 7, 9}});
  ExpectClose(Reference(op), Means(2, {1, 2, 4, 5, 5, 5}), kEpsilon);
}

TEST(GroupQueryAttentionTest, NewTokensFollowThePastOfTheirSample) {
  const OpTester op = Grouped({3, {3, 1}, 4, {4, 5}});
  ExpectClose(Reference(op), Means(2, {77.5F, 53}), kEpsilon);
  ExpectClose(Reference(op, 2),
              Make<float>({2, 1, 4, 2}, {101, 0, 102, 0, 103, 0, 4, 0, 101, 0, 5, 0, 0, 0, 0, 0}),
              0);
}

TEST(GroupQueryAttentionTest, ThePastMayHaveRoomForMore) {
  const OpTester op = Grouped({3, {1}, 2, {4}});
  ExpectClose(Reference(op), Means(1, {52.5F}), kEpsilon);
  ExpectClose(Reference(op, 2), Make<float>({1, 1, 3, 2}, {101, 0, 4, 0, 0, 0}), 0);
}

TEST(GroupQueryAttentionTest, WindowSinksAndBothDirections) {
  const Cache prompt = {0, {2}, 3, {1, 3, 8}};
  OpTester window = Grouped(prompt);
  window.Attribute("local_window_size", int64_t{2});
  ExpectClose(Reference(window), Means(1, {1, 2, 5.5F}), kEpsilon);
  OpTester both = Grouped(prompt);
  both.Attribute("causal", int64_t{0});
  ExpectClose(Reference(both), Means(1, {4, 4, 4}), kEpsilon);
  OpTester smooth = Grouped(prompt);
  smooth.Attribute("smooth_softmax", int64_t{1});
  ExpectClose(Reference(smooth), Means(1, {0.5F, 4.0F / 3, 3}), kEpsilon);
}

TEST(GroupQueryAttentionTest, TheCacheMaySlide) {
  // A window of 2 in a cache of 3 keeps the last 2 of 4 tokens and the last 3 of 5.
  OpTester fourth = Grouped({3, {3}, 4, {4}});
  fourth.Attribute("local_window_size", int64_t{2}).Attribute("sliding_window_cache", int64_t{1});
  ExpectClose(Reference(fourth), Means(1, {53.5F}), kEpsilon);
  ExpectClose(Reference(fourth, 2), Make<float>({1, 1, 3, 2}, {103, 0, 4, 0, 0, 0}), 0);
  OpTester fifth = Grouped({3, {4}, 5, {5}});
  fifth.Attribute("local_window_size", int64_t{2}).Attribute("sliding_window_cache", int64_t{1});
  ExpectClose(Reference(fifth), Means(1, {53.5F}), kEpsilon);
  ExpectClose(Reference(fifth, 2), Make<float>({1, 1, 3, 2}, {101, 0, 102, 0, 5, 0}), 0);
}

TEST(GroupQueryAttentionTest, KeysAreRotatedByTheirPositions) {
  OpTester op = Grouped({1, {2}, 3, {4, 5}});
  op.Attribute("do_rotary", int64_t{1});
  op.Input(Make<float>({4, 1}, {1, 0, 1, 0})).Input(Make<float>({4, 1}, {0, 1, 0, 1}));
  ExpectClose(Reference(op, 1), Make<float>({1, 1, 3, 2}, {101, 0, -2, 1, 1, 2}), 0);
}

TEST(GroupQueryAttentionTest, PositionIdsChooseTheAngles) {
  OpTester op = Grouped({1, {2}, 3, {4, 5}});
  op.Attribute("do_rotary", int64_t{1});
  op.Input(Make<float>({4, 1}, {1, 0, 1, 0})).Input(Make<float>({4, 1}, {0, 1, 0, 1}));
  op.Input(Make<int64_t>({1, 2}, {0, 3}));
  ExpectClose(Reference(op, 1), Make<float>({1, 1, 3, 2}, {101, 0, 1, 2, -2, 1}), 0);
}

TEST(GroupQueryAttentionTest, UnsupportedFormsAreRefused) {
  OpTester quantized = Grouped({1, {1}, 2, {4}});
  quantized.Attribute("k_quant_type", std::string("PER_ROW"));
  EXPECT_THAT(quantized.Reference().status().message(),
              HasSubstr("must be one of NONE, PER_TENSOR, PER_CHANNEL"));
  OpTester longer = Grouped({1, {1}, 3, {4}});
  EXPECT_THAT(longer.Reference().status().message(), HasSubstr("at most 1 past and 1 new"));
  OpTester positions = Grouped({1, {1}, 2, {4}});
  positions.Attribute("do_rotary", int64_t{1});
  positions.Input(Make<float>({4, 1}, {1, 0, 1, 0})).Input(Make<float>({4, 1}, {0, 1, 0, 1}));
  positions.Input(Make<int64_t>({1, 2}, {1, 1}));
  EXPECT_THAT(positions.Reference().status().message(),
              HasSubstr("expected position_ids int64[1,1], but it is int64[1,2]"));
}

TEST(GroupQueryAttentionTest, MismatchedOperandsAreRefused) {
  OpTester heads = Grouped({1, {1}, 2, {4}});
  heads.Attribute("kv_num_heads", int64_t{0});
  EXPECT_THAT(heads.Reference().status().message(), HasSubstr("found 2 and 0"));
  OpTester bias = Grouped({1, {1}, 2, {4}});
  for (int i = 0; i < 3; ++i) bias.NoInput();
  bias.Input(Make<float>({1, 1, 1, 1}, {1}));
  EXPECT_THAT(bias.Reference().status().message(),
              HasSubstr("expected attention_bias [_,_,1,2], but it is float[1,1,1,1]"));
  OpTester sinks = Grouped({1, {1}, 2, {4}});
  for (int i = 0; i < 4; ++i) sinks.NoInput();
  sinks.Input(Make<int8_t>({2}, {1, 1}));
  EXPECT_THAT(sinks.Reference().status().message(),
              HasSubstr("expected head_sink float[2], but it is int8[2]"));
}

TEST(GroupQueryAttentionTest, PastOfTwoCapacitiesIsRefused) {
  OpTester op("GroupQueryAttention", 1, kMicrosoft);
  op.Attribute("num_heads", int64_t{1}).Attribute("kv_num_heads", int64_t{1});
  for (int i = 0; i < 3; ++i) op.Input(Zeros({1, 1, 2}));
  op.Input(Zeros({1, 1, 3, 2})).Input(Zeros({1, 1, 2, 2}));
  op.Input(Make<int32_t>({1}, {1})).Input(Make<int32_t>({}, {2}));
  EXPECT_THAT(op.Reference().status().message(),
              HasSubstr("but they are float[1,1,3,2] and float[1,1,2,2]"));
}

// The operator that updates the cache: two samples of two heads, with strided updates.
TEST(AppendToCacheTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  struct Case {
    int64_t past, count, total;
    std::vector<int64_t> used, dropped;
  };
  const Case cases[] = {{3, 1, 4, {3, 1}, {}},     {5, 2, 3, {0, 2}, {}},
                        {0, 4, 4, {0, 0}, {}},     {4, 3, 4, {4, 2}, {3, 1}},
                        {2, 5, 2, {2, 0}, {5, 4}}, {2, 1, 2, {2, 1}, {9, 0}}};
  for (const Case& c : cases) {
    OpTester op("AppendToCache", 1, "attnrun");
    op.Input(RandomFloats({2, 2, c.past, 3}, generator));
    op.Input(RandomFloats({2, 2, c.count, 3}, generator));
    op.Input(Make<int64_t>({2}, c.used)).Input(Make<int64_t>({}, {c.total}));
    if (!c.dropped.empty()) op.Input(Make<int64_t>({2}, c.dropped));
    ExpectClose(op.Kernel().value()[0], Reference(op), 0);
  }
  OpTester op("AppendToCache", 1, "attnrun");
  op.Input(Zeros({1, 1, 1, 1})).Input(Zeros({1, 1, 1, 1})).Input(Make<int64_t>({1}, {2}));
  op.Input(Make<int64_t>({}, {2}));
  EXPECT_THAT(op.Reference().status().message(), HasSubstr("has 2 positions before 1 new ones"));
}

// Found by the fuzzer of operators: a double holds no integer of 64 bits exactly.
TEST(AppendToCacheTest, ReferenceMovesEveryBit) {
  constexpr uint64_t kMost = ~uint64_t{0};
  OpTester op("AppendToCache", 1, "attnrun");
  op.Input(Make<uint64_t>({1, 1, 1, 1}, {kMost - 1})).Input(Make<uint64_t>({1, 1, 1, 1}, {kMost}));
  op.Input(Make<int64_t>({1}, {1})).Input(Make<int64_t>({}, {2}));
  const Tensor reference = Reference(op);
  EXPECT_THAT(absl::MakeConstSpan(reference.data<uint64_t>(), 2), ElementsAre(kMost - 1, kMost));
  ExpectSame(op.Kernel().value()[0], reference);
}

}  // namespace
}  // namespace attnrun::testing
