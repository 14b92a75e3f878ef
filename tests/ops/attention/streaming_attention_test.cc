// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/streaming_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "hwy/targets.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

int64_t At(const ops::HeadStrides& strides, int64_t b, int64_t s, int64_t n, int64_t h) {
  return b * strides.batch + s * strides.sequence + n * strides.head + h * strides.channel;
}

// True if the position rules leave key t unmasked for query s of sample b.
bool IsUnmasked(const ops::AttentionProblem& p, int64_t b, int64_t s, int64_t t) {
  const int64_t position = (p.query_offsets == nullptr ? 0 : p.query_offsets[b]) + s;
  return (!p.causal || t <= position) && (p.left_window < 0 || t >= position - p.left_window) &&
         (p.right_window < 0 || t <= position + p.right_window);
}

double Score(const ops::AttentionProblem& p, int64_t b, int64_t n, int64_t s, int64_t t) {
  if (p.valid_keys != nullptr && t >= p.valid_keys[b]) return -kInf;
  if (!IsUnmasked(p, b, s, t)) return p.mask_value;
  const int64_t kv = n / (p.query_heads / p.kv_heads);
  double score = 0;
  for (int64_t h = 0; h < p.head_size; ++h) {
    score +=
        static_cast<double>(p.q[At(p.q_strides, b, s, n, h)]) * p.k[At(p.k_strides, b, t, kv, h)];
  }
  score *= p.scale;
  if (p.softcap > 0) score = p.softcap * std::tanh(score / p.softcap);
  const auto at = [&](const auto& operand) {
    return b * operand.batch + n * operand.head + s * operand.query + t * operand.key;
  };
  if (p.mask.data != nullptr && !p.mask.data[at(p.mask)]) return p.mask_value;
  // The sum is in float, where -FLT_MAX absorbs the score.
  if (p.bias.data != nullptr) return static_cast<float>(score) + p.bias.data[at(p.bias)];
  return score;
}

std::vector<double> ExpectedRow(const ops::AttentionProblem& p, int64_t b, int64_t n, int64_t s) {
  std::vector<double> weights(p.keys);
  for (int64_t t = 0; t < p.keys; ++t) weights[t] = Score(p, b, n, s, t);
  const double peak = *std::max_element(weights.begin(), weights.end());
  if (peak == -kInf) return std::vector<double>(p.value_size, p.masked_row);
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - peak);
  const int64_t kv = n / (p.query_heads / p.kv_heads);
  std::vector<double> row(p.value_size, 0);
  for (int64_t t = 0; t < p.keys; ++t) {
    for (int64_t h = 0; h < p.value_size; ++h) {
      row[h] += weights[t] / total * p.v[At(p.v_strides, b, t, kv, h)];
    }
  }
  return row;
}

// Random numbers laid out in the given order of the axes (b, s, n, h), with some space in between.
struct Laid {
  std::vector<float> data;
  ops::HeadStrides strides;
};
Laid Lay(const std::string& order, int64_t b, int64_t s, int64_t n, int64_t h,
         std::mt19937& generator) {
  Laid laid;
  int64_t stride = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const int64_t extent = *axis == 'b' ? b : *axis == 's' ? s : *axis == 'n' ? n : h;
    (*axis == 'b'   ? laid.strides.batch
     : *axis == 's' ? laid.strides.sequence
     : *axis == 'n' ? laid.strides.head
                    : laid.strides.channel) = stride;
    stride = stride * extent + (axis == order.rbegin() ? 3 : 0);
  }
  laid.data.resize(stride);
  std::normal_distribution<float> normal;
  for (float& value : laid.data) value = normal(generator);
  return laid;
}

// Makes the problem read these operands and write a result with the strides of y.
void Connect(const Laid& q, const Laid& k, const Laid& v, const Laid& y, ops::AttentionProblem& p) {
  p.q = q.data.data();
  p.k = k.data.data();
  p.v = v.data.data();
  p.q_strides = q.strides;
  p.k_strides = k.strides;
  p.v_strides = v.strides;
  p.y_strides = y.strides;
}

void ExpectRows(const ops::AttentionProblem& p, double tolerance) {
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t n = 0; n < p.query_heads; ++n) {
      for (int64_t s = 0; s < p.queries; ++s) {
        const std::vector<double> expected = ExpectedRow(p, b, n, s);
        for (int64_t h = 0; h < p.value_size; ++h) {
          const float actual = p.y[At(p.y_strides, b, s, n, h)];
          if (std::isnan(expected[h]) && std::isnan(actual)) continue;
          ASSERT_NEAR(actual, expected[h], tolerance * std::max(1.0, std::fabs(expected[h])))
              << "b " << b << " n " << n << " s " << s << " h " << h;
        }
      }
    }
  }
}

// Compares each instruction set of this machine with the formula. The default tolerance is the
// operator's.
void Check(ops::AttentionProblem problem, const std::string& order, std::mt19937& generator,
           double tolerance = 100 * kEpsilon) {
  ops::AttentionProblem& p = problem;
  const Laid q = Lay(order, p.batch, p.queries, p.query_heads, p.head_size, generator);
  const Laid k = Lay(order, p.batch, p.keys, p.kv_heads, p.head_size, generator);
  const Laid v = Lay(order, p.batch, p.keys, p.kv_heads, p.value_size, generator);
  Laid y = Lay(order, p.batch, p.queries, p.query_heads, p.value_size, generator);
  Connect(q, k, v, y, p);
  p.y = y.data.data();
  p.scale = 1 / std::sqrt(static_cast<float>(p.head_size));
  for (const int64_t disabled : {int64_t{0}, int64_t{HWY_AVX3}}) {
    SCOPED_TRACE(disabled == 0 ? "all instructions" : "AVX2");
    hwy::DisableTargets(disabled);
    EXPECT_TRUE(ops::StreamingAttention(p, Allocator::Heap()).ok());
    ExpectRows(p, tolerance);
  }
  hwy::DisableTargets(0);
}

ops::AttentionProblem Sizes(int64_t queries, int64_t keys) {
  ops::AttentionProblem p;
  p.batch = 2;
  p.query_heads = 4;
  p.kv_heads = 2;
  p.queries = queries;
  p.keys = keys;
  p.head_size = 20;
  p.value_size = 12;
  return p;
}

TEST(StreamingAttentionTest, AnyLayout) {
  std::mt19937 generator(Seed());
  for (const char* order : {"bnsh", "bsnh", "sbnh", "bnhs", "hsnb"}) {
    SCOPED_TRACE(order);
    Check(Sizes(37, 70), order, generator);
  }
}

TEST(StreamingAttentionTest, PositionsAndWindows) {
  std::mt19937 generator(Seed());
  const int64_t offsets[] = {100, -5};
  const int64_t valid[] = {150, 33};
  for (const bool causal : {false, true}) {
    for (const int64_t left : {-1, 0, 40, 1000}) {
      for (const int64_t right : {-1, 0, 80}) {
        ops::AttentionProblem p = Sizes(70, 170);
        p.causal = causal;
        p.left_window = left;
        p.right_window = right;
        p.query_offsets = offsets;
        Check(p, "bsnh", generator);
        p.valid_keys = valid;
        p.masked_row = std::numeric_limits<float>::quiet_NaN();
        Check(p, "bsnh", generator);
      }
    }
  }
}

TEST(StreamingAttentionTest, MaskedKeysMayHaveFiniteScores) {
  std::mt19937 generator(Seed());
  // -1e9 is far below any score, -1 is in the middle of them, -90 is close to where weights vanish.
  for (const float masked : {-1e9F, -90.0F, -1.0F}) {
    // So few keys are unmasked that some rows and tiles have none.
    std::vector<bool> wanted(70 * 200);
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = generator() % 97 == 0 && i / 200 % 3 != 0 && (i % 200 > 130 || i % 200 < 50);
    }
    std::unique_ptr<bool[]> unmasked(new bool[wanted.size()]);
    std::copy(wanted.begin(), wanted.end(), unmasked.get());
    ops::AttentionProblem p = Sizes(70, 200);
    p.mask_value = masked;
    p.mask = {unmasked.get(), 0, 0, 200, 1};
    Check(p, "bsnh", generator);
    p.causal = true;
    Check(p, "bsnh", generator);
    p.mask = {};
    Check(p, "bsnh", generator);
  }
}

TEST(StreamingAttentionTest, BiasesThatLookLikeMasksAreComputedWhereTheyMatter) {
  std::mt19937 generator(Seed());
  const float lowest = std::numeric_limits<float>::lowest();
  for (const float masked : {lowest, -10000.0F, -1010.0F, -static_cast<float>(kInf)}) {
    std::vector<float> bias(70 * 200, masked);
    for (int64_t s = 0; s < 70; ++s) {
      // Every third row is fully masked; the others have unmasked keys only in a tile in the middle
      // or at the end.
      if (s % 3 != 0) bias[s * 200 + 70 + s] = 0.5F;
      // The fully masked rows have one tile whose maximum is close to that of the others.
      if (s % 3 == 0) bias[s * 200 + s] = masked + 3;
    }
    // If all scores of a row include the bias, their sums are rounded to the last place of the
    // bias.
    const double tolerance = masked < -20000 ? 100 * kEpsilon : -4.0 * masked * kEpsilon;
    ops::AttentionProblem p = Sizes(70, 200);
    p.bias = {bias.data(), 0, 0, 200, 1};
    Check(p, "bnsh", generator, tolerance);
    p.bias.key = 0;
    Check(p, "bnsh", generator, tolerance);
    p.softcap = 2;
    Check(p, "bnsh", generator, tolerance);
  }
}

// The peaks rise by less than the threshold for rescaling the sums, by more, and by so much that
// earlier tiles no longer count.
TEST(StreamingAttentionTest, PeaksThatRiseFromTileToTile) {
  std::mt19937 generator(Seed());
  for (const float step : {3.0F, 7.5F, 20.0F, 100.0F}) {
    std::vector<float> bias(200);
    for (int64_t t = 0; t < 200; ++t) {
      const int64_t tile = t / 64;
      bias[t] = step * static_cast<float>(tile);
    }
    ops::AttentionProblem p = Sizes(70, 200);
    p.bias = {bias.data(), 0, 0, 0, 1};
    // Scores are rounded to their last place, which becomes a relative error of the weights.
    Check(p, "bnsh", generator, std::max(100.0F, 4 * 3 * step) * kEpsilon);
  }
}

TEST(StreamingAttentionTest, MaskAndBiasTogether) {
  std::mt19937 generator(Seed());
  const float lowest = std::numeric_limits<float>::lowest();
  for (const float masked : {-static_cast<float>(kInf), lowest, -2.0F}) {
    for (const float low : {-static_cast<float>(kInf), lowest, -1.0F}) {
      ops::AttentionProblem p = Sizes(70, 200);
      // Whole tiles are masked by the mask, by the bias, by both or by neither.
      std::unique_ptr<bool[]> unmasked(new bool[4 * 200]);
      std::vector<float> bias(70 * 200);
      for (int64_t i = 0; i < 4 * 200; ++i) unmasked[i] = i % 200 < 64 || i % 200 == 150;
      for (int64_t i = 0; i < 70 * 200; ++i) {
        bias[i] =
            i % 200 < 3 || i % 200 > 140 || (i % 200 > 64 && generator() % 5 == 0) ? 0.5F : low;
      }
      p.mask_value = masked;
      p.mask = {unmasked.get(), 0, 200, 0, 1};
      p.bias = {bias.data(), 0, 0, 200, 1};
      Check(p, "bsnh", generator);
      p.causal = true;
      p.left_window = 90;
      Check(p, "bnhs", generator);
    }
  }
}

// Computes all queries at once, then each query alone, when its tiles serve no other row. Expects
// equal bits.
void ExpectSameBitsAlone(ops::AttentionProblem p, const Laid& q, const Laid& y) {
  const std::vector<float> zeros(y.data.size(), 0.0F);
  std::vector<float> together = zeros;
  p.y = together.data();
  ASSERT_TRUE(ops::StreamingAttention(p, Allocator::Heap()).ok());
  std::vector<float> alone = zeros;
  for (int64_t s = 0; s < p.queries; ++s) {
    ops::AttentionProblem one = p;
    one.queries = 1;
    one.q = q.data.data() + s * q.strides.sequence;
    one.y = alone.data() + s * y.strides.sequence;
    if (one.bias.data != nullptr) one.bias.data += s * one.bias.query;
    if (one.mask.data != nullptr) one.mask.data += s * one.mask.query;
    ASSERT_TRUE(ops::StreamingAttention(one, Allocator::Heap()).ok());
  }
  EXPECT_EQ(std::memcmp(together.data(), alone.data(), alone.size() * sizeof(float)), 0);
}

TEST(StreamingAttentionTest, SkippingTilesChangesNoBit) {
  constexpr int64_t kLength = 200;
  constexpr int64_t kPadding = 70;
  std::mt19937 generator(Seed());
  const float lowest = std::numeric_limits<float>::lowest();
  // Padding on the left, whose rows see no key, then a causal mask.
  std::unique_ptr<bool[]> unmasked(new bool[kLength * kLength]);
  std::vector<float> bias(kLength * kLength);
  for (int64_t i = 0; i < kLength * kLength; ++i) {
    unmasked[i] = i % kLength >= kPadding && i % kLength <= i / kLength;
    bias[i] = unmasked[i] ? 0.0F : lowest;
  }
  ops::AttentionProblem p = Sizes(kLength, kLength);
  const Laid q = Lay("bsnh", 2, kLength, 4, 20, generator);
  const Laid k = Lay("bsnh", 2, kLength, 2, 20, generator);
  const Laid v = Lay("bsnh", 2, kLength, 2, 12, generator);
  const Laid y = Lay("bsnh", 2, kLength, 4, 12, generator);
  Connect(q, k, v, y, p);
  p.bias = {bias.data(), 0, 0, kLength, 1};
  ExpectSameBitsAlone(p, q, y);
  p.bias = {};
  p.mask = {unmasked.get(), 0, 0, kLength, 1};
  ExpectSameBitsAlone(p, q, y);
  p.mask_value = lowest;
  ExpectSameBitsAlone(p, q, y);
  p.mask = {};
  p.bias = {bias.data(), 0, 0, kLength, 1};
  // Masked tiles whose weights are about to vanish come before keys with rising scores.
  for (const float masked : {-85.0F, -90.0F, -95.0F, -100.0F, -105.0F}) {
    for (int64_t i = 0; i < kLength * kLength; ++i) {
      bias[i] = !unmasked[i] ? masked : i % kLength < 128 ? -6.0F : 0.0F;
    }
    ExpectSameBitsAlone(p, q, y);
  }
}

TEST(StreamingAttentionTest, MaskedTilesAreNotRead) {
  std::mt19937 generator(Seed());
  constexpr int64_t kUnmasked = 64;
  const int64_t valid[] = {kUnmasked, kUnmasked};
  const int64_t offset[] = {kUnmasked - 3, kUnmasked - 3};
  std::unique_ptr<bool[]> unmasked(new bool[200]);
  for (int64_t t = 0; t < 200; ++t) unmasked[t] = t < kUnmasked;
  ops::AttentionProblem by_count = Sizes(3, 200);
  by_count.valid_keys = valid;
  ops::AttentionProblem by_position = Sizes(3, 200);
  by_position.causal = true;
  by_position.query_offsets = offset;
  ops::AttentionProblem by_mask = Sizes(3, 200);
  by_mask.mask = {unmasked.get(), 0, 0, 0, 1};
  // The sequence is the outermost axis, so the keys from kUnmasked on are the end of the data.
  const Laid q = Lay("sbnh", 2, 3, 4, 20, generator);
  Laid k = Lay("sbnh", 2, 200, 2, 20, generator);
  Laid v = Lay("sbnh", 2, 200, 2, 12, generator);
  Laid y = Lay("sbnh", 2, 3, 4, 12, generator);
  std::fill(k.data.begin() + kUnmasked * k.strides.sequence, k.data.end(), NAN);
  std::fill(v.data.begin() + kUnmasked * v.strides.sequence, v.data.end(), NAN);
  for (ops::AttentionProblem p : {by_count, by_position, by_mask}) {
    Connect(q, k, v, y, p);
    p.y = y.data.data();
    ASSERT_TRUE(ops::StreamingAttention(p, Allocator::Heap()).ok());
    for (const float value : y.data) EXPECT_TRUE(std::isfinite(value));
  }
}

}  // namespace
}  // namespace attnrun::testing
