// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/few_queries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/parallel.h"
#include "ops/attention/streaming_attention.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ops::NarrowForm;

constexpr int64_t kBatch = 2;
constexpr int64_t kKvHeads = 3;
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> Normal(int64_t count, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

// Attention whose queries are the last of the keys, on dense heads [batch, heads, positions, size].
struct Attention {
  Attention(int64_t queries, int64_t keys, int64_t group, int64_t size, std::mt19937& generator)
      : q(Normal(kBatch * kKvHeads * group * queries * size, generator)),
        k(Normal(kBatch * kKvHeads * keys * size, generator)),
        v(Normal(kBatch * kKvHeads * keys * size, generator)),
        offsets(kBatch, keys - queries) {
    p.batch = kBatch;
    p.kv_heads = kKvHeads;
    p.query_heads = kKvHeads * group;
    p.queries = queries;
    p.keys = keys;
    p.head_size = p.value_size = size;
    p.q_strides = Dense(p.query_heads, queries);
    p.k_strides = p.v_strides = Dense(kKvHeads, keys);
    p.y_strides = p.q_strides;
    p.scale = 0.3F;
    p.causal = true;
  }

  ops::HeadStrides Dense(int64_t heads, int64_t positions) const {
    return {heads * positions * p.head_size, p.head_size, positions * p.head_size, 1};
  }

  // The problem of `count` queries from query `first` on.
  ops::AttentionProblem Some(int64_t first, int64_t count, std::vector<float>& y) {
    ops::AttentionProblem some = p;
    some.queries = count;
    some.q = q.data() + first * p.head_size;
    some.k = k.data();
    some.v = v.data();
    if (narrow != NarrowForm::kFloats) {
      some.narrow = {narrow_k.raw(), narrow_v.raw(), narrow};
      // Rows have a scale behind them.
      const int64_t row = narrow_k.dim(1);
      for (ops::HeadStrides* strides : {&some.k_strides, &some.v_strides}) {
        for (int64_t* stride : {&strides->batch, &strides->sequence, &strides->head}) {
          *stride = *stride / p.head_size * row;
        }
      }
    }
    some.y = y.data() + first * p.head_size;
    shifted.assign(offsets.begin(), offsets.end());
    for (int64_t& offset : shifted) offset += first;
    some.query_offsets = shifted.data();
    if (some.bias.data != nullptr) some.bias.data += first * some.bias.query;
    if (some.mask.data != nullptr) some.mask.data += first * some.mask.query;
    return some;
  }

  // Rounds keys and values to a form of fewer bits.
  void Round(NarrowForm to) {
    narrow_k = Rounded(k, to);
    narrow_v = Rounded(v, to);
  }

  // Changes the floats, too.
  Tensor Rounded(std::vector<float>& floats, NarrowForm to) const {
    const int64_t rows = static_cast<int64_t>(floats.size()) / p.head_size;
    const Tensor all = *Tensor::Of<float>({rows, p.head_size}, floats);
    if (ops::ElementBytes(to) == 1 && to != NarrowForm::kScaledBytes) return Integers(floats, to);
    const bool quantized = to == NarrowForm::kScaledBytes;
    const auto type = [](DataType t) { return static_cast<int64_t>(t); };
    const DataType halves = to == NarrowForm::kFloat16 ? DataType::kFloat16 : DataType::kBfloat16;
    const auto there = quantized ? OpTester("QuantizeRows", 1, "attnrun").Input(all)
                                 : OpTester("Cast", 13).Input(all).Attribute("to", type(halves));
    const Tensor narrow = there.Kernel().value()[0];
    const auto back =
        quantized ? OpTester("DequantizeRows", 1, "attnrun").Input(narrow)
                  : OpTester("Cast", 13).Input(narrow).Attribute("to", type(DataType::kFloat));
    const Tensor wide = back.Kernel().value()[0];
    floats.assign(wide.data<float>(), wide.data<float>() + wide.num_elements());
    return narrow;
  }

  // Rounds the floats to integers that bytes, or halves of bytes, can hold.
  Tensor Integers(std::vector<float>& floats, NarrowForm to) const {
    const int64_t rows = static_cast<int64_t>(floats.size()) / p.head_size;
    const int64_t packed = to == NarrowForm::kPairs ? 2 : 1;
    std::vector<int8_t> bytes(floats.size() / packed);
    for (size_t i = 0; i < floats.size(); ++i) {
      floats[i] = std::clamp(std::nearbyint(3 * floats[i]), -8.0F, 7.0F);
      const int number = static_cast<int>(floats[i]);
      int8_t& byte = bytes[i / packed];
      byte =
          static_cast<int8_t>(packed == 1 ? number : byte + (number + 8) * (i % 2 == 0 ? 1 : 16));
    }
    return *Tensor::Of<int8_t>({rows, p.head_size / packed}, bytes);
  }

  ops::AttentionProblem p;
  // If not kFloats, the problem has narrow_k and narrow_v in place of k and v.
  NarrowForm narrow = NarrowForm::kFloats;
  Tensor narrow_k = {};
  Tensor narrow_v = {};
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<int64_t> offsets;
  std::vector<int64_t> shifted;
};

std::vector<float> Attend(Attention& attention, int64_t at_once) {
  std::vector<float> y(attention.q.size(), 0.0F);
  for (int64_t s = 0; s < attention.p.queries; s += at_once) {
    const int64_t count = std::min(at_once, attention.p.queries - s);
    const ops::AttentionProblem some = attention.Some(s, count, y);
    EXPECT_TRUE(ops::StreamingAttention(some, Allocator::Heap()).ok());
  }
  return y;
}

// Expects each query alone, and a few together, to give the bits that all queries together give,
// on any number of threads. `direct`: AttendFewQueries computes them itself.
void ExpectSameBits(Attention attention, bool direct) {
  ASSERT_FALSE(ops::HasFewQueries(attention.p));
  SetNumThreads(1);
  const std::vector<float> expected = Attend(attention, attention.p.queries);
  const int64_t group = attention.p.query_heads / attention.p.kv_heads;
  // With 4 and 5, some of the 6 heads are shared by all threads.
  for (const int threads : {1, 2, 4, 5}) {
    SetNumThreads(threads);
    for (const int64_t at_once : {int64_t{1}, 12 / group}) {
      const std::vector<float> actual = Attend(attention, at_once);
      EXPECT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)), 0)
          << threads << " threads, " << at_once << " at once";
    }
  }
  std::vector<float> y(attention.q.size());
  const ops::AttentionProblem one = attention.Some(attention.p.queries - 1, 1, y);
  EXPECT_TRUE(ops::HasFewQueries(one));
  if (one.bias.data != nullptr || one.mask.data != nullptr) return;
  const auto done = ops::AttendFewQueries(one, {}, Allocator::Heap());
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(*done, direct);
}

TEST(FewQueriesTest, BitsAreThoseOfManyQueries) {
  std::mt19937 generator(Seed());
  for (const int64_t size : {16, 48, 64, 80, 256}) {
    for (const int64_t group : {1, 2, 3, 4}) {
      for (const int64_t keys : {64, 77, 200, 700}) {
        SCOPED_TRACE(std::to_string(size) + " " + std::to_string(group) + " " +
                     std::to_string(keys));
        ExpectSameBits({20, keys, group, size, generator}, true);
      }
    }
  }
}

// Narrow keys are widened tile by tile for few queries, and at once for many.
TEST(FewQueriesTest, ANarrowCacheGivesTheBitsOfItsFloats) {
  std::mt19937 generator(Seed());
  for (const NarrowForm form : {NarrowForm::kFloat16, NarrowForm::kBfloat16,
                                NarrowForm::kScaledBytes, NarrowForm::kBytes, NarrowForm::kPairs}) {
    for (const int64_t size : {16, 48, 256}) {
      for (const bool heads_first : {false, true}) {
        for (const int64_t keys : {77, 300}) {
          Attention attention(20, keys, 3, size, generator);
          if (!heads_first) {
            const int64_t row = kKvHeads * size;
            attention.p.k_strides = attention.p.v_strides = {keys * row, row, size, 1};
          }
          attention.Round(form);
          const std::vector<float> expected = Attend(attention, 20);
          attention.narrow = form;
          for (const int threads : {1, 2}) {
            SetNumThreads(threads);
            EXPECT_EQ(Attend(attention, 20), expected);
            EXPECT_EQ(Attend(attention, 1), expected);
            EXPECT_EQ(Attend(attention, 3), expected);
          }
        }
      }
    }
  }
}

TEST(FewQueriesTest, WindowsAndSoftcap) {
  std::mt19937 generator(Seed());
  for (const int64_t left : {0, 63, 100}) {
    Attention attention(20, 300, 3, 64, generator);
    attention.p.left_window = left;
    attention.p.softcap = left == 100 ? 5 : 0;
    ExpectSameBits(attention, true);
    attention.p.causal = false;
    attention.p.right_window = 2;
    ExpectSameBits(attention, true);
  }
}

// Scores that rise from tile to tile rescale the sums.
TEST(FewQueriesTest, PeaksThatRise) {
  std::mt19937 generator(Seed());
  for (const float step : {7.0F, 20.0F, 100.0F}) {
    Attention attention(20, 400, 3, 64, generator);
    for (float& x : attention.q) x = std::fabs(x);
    for (size_t i = 0; i < attention.k.size(); ++i) {
      const size_t tile = i / 64 % 400 / 64;
      attention.k[i] = step / 30 * static_cast<float>(tile);
    }
    ExpectSameBits(attention, true);
  }
}

TEST(FewQueriesTest, MasksAndBiases) {
  constexpr int64_t kKeys = 300;
  std::mt19937 generator(Seed());
  const float lowest = std::numeric_limits<float>::lowest();
  std::unique_ptr<bool[]> unmasked(new bool[20 * kKeys]);
  std::vector<float> bias(20 * kKeys);
  for (int64_t i = 0; i < 20 * kKeys; ++i) {
    // A tile that is masked for all, one that is masked for most, and single keys.
    const int64_t t = i % kKeys;
    unmasked[i] = t >= 64 && (t < 128 || t >= 192 || i / kKeys > 16) && generator() % 5 != 0;
    bias[i] = unmasked[i] ? 0.5F : -kInf;
  }
  for (const float masked : {-kInf, lowest, -80.0F}) {
    Attention attention(20, kKeys, 3, 64, generator);
    attention.p.mask_value = masked;
    attention.p.mask = {unmasked.get(), 0, 0, kKeys, 1};
    ExpectSameBits(attention, false);
    attention.p.mask = {};
    attention.p.bias = {bias.data(), 0, 0, kKeys, 1};
    ExpectSameBits(attention, false);
    for (float& x : bias) x = x > 0 ? x : masked;
    ExpectSameBits(attention, false);
  }
}

// A row that sees no key, and sinks.
TEST(FewQueriesTest, MaskedRowsAndSinks) {
  std::mt19937 generator(Seed());
  Attention attention(20, 200, 3, 64, generator);
  attention.p.masked_row = 3;
  attention.offsets = {-30, -5};
  ExpectSameBits(attention, false);
  attention.offsets = {180, 180};
  const std::vector<float> sinks = {0.5F, 9, -1, 3, -kInf, 2, 1, 0, -3};
  attention.p.sinks = {sinks.data(), 0, 1, 0, 0};
  ExpectSameBits(attention, true);
}

// The memory may end behind the last key, or hold numbers that are not finite.
TEST(FewQueriesTest, KeysBehindTheLastAreNotRead) {
  std::mt19937 generator(Seed());
  Attention attention(1, 150, 3, 64, generator);
  attention.offsets = {99, 70};
  for (int64_t head = 0; head < kBatch * kKvHeads; ++head) {
    const int64_t end = attention.offsets[head / kKvHeads] + 1;
    for (int64_t i = (head * 150 + end) * 64; i < (head + 1) * 150 * 64; ++i) {
      attention.k[i] = attention.v[i] = NAN;
    }
  }
  for (const float value : Attend(attention, 1)) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace attnrun::testing
