// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/streaming_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "hwy/targets.h"
#include "ops/attention/whole_rows.h"
#include "ops/tensors/cpu.h"
#include "ops/tensors/half.h"
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

// Operands in bf16, and the result for them, first read as floats, then as bf16.
class Bf16Operands {
 public:
  Bf16Operands(const ops::AttentionProblem& p, std::mt19937& generator)
      : q_(Lay("bsnh", p.batch, p.queries, p.query_heads, p.head_size, generator)),
        k_(Lay("bsnh", p.batch, p.keys, p.kv_heads, p.head_size, generator)),
        v_(Lay("bsnh", p.batch, p.keys, p.kv_heads, p.value_size, generator)),
        y_(Lay("bsnh", p.batch, p.queries, p.query_heads, p.value_size, generator)) {
    for (Laid* laid : {&q_, &k_, &v_}) {
      ops::RoundToBf16(laid->data.data(), static_cast<int64_t>(laid->data.size()));
    }
  }

  // The problem on these operands, with its result in `y`.
  ops::AttentionProblem Floats(ops::AttentionProblem p, std::vector<float>& y) const {
    y.assign(y_.data.size(), 0);
    Connect(q_, k_, v_, y_, p);
    p.y = y.data();
    p.bf16 = true;
    return p;
  }

  // As above, for `halves` of the operands, which must stay alive.
  ops::AttentionProblem Halves(ops::AttentionProblem p, std::vector<float>& y,
                               std::vector<uint16_t> (&halves)[3]) const {
    p = Floats(p, y);
    const Laid* laid[] = {&q_, &k_, &v_};
    for (int i = 0; i < 3; ++i) {
      halves[i].resize(laid[i]->data.size());
      ops::NarrowToBf16(laid[i]->data.data(), static_cast<int64_t>(halves[i].size()),
                        halves[i].data());
    }
    p.bf16_q = halves[0].data();
    p.bf16_k = halves[1].data();
    p.bf16_v = halves[2].data();
    p.q = p.k = p.v = nullptr;
    return p;
  }

 private:
  Laid q_;
  Laid k_;
  Laid v_;
  Laid y_;
};

// Compares products in bf16 with the formula, and operands in floats with those in bf16.
void CheckBf16(ops::AttentionProblem p, std::mt19937& generator) {
  p.scale = 1 / std::sqrt(static_cast<float>(p.head_size));
  const Bf16Operands operands(p, generator);
  std::vector<float> y;
  const ops::AttentionProblem floats = operands.Floats(p, y);
  ASSERT_TRUE(ops::StreamingAttention(floats, Allocator::Heap()).ok());
  // Weights are rounded to bf16, each by 2^-9 of itself at most, and values are at most about 5.
  ExpectRows(floats, 100 * kEpsilon + 5 * 0x1p-9);
  if (!ops::AttendsWholeRows(floats)) return;
  std::vector<float> of_halves;
  std::vector<uint16_t> halves[3];
  const ops::AttentionProblem narrow = operands.Halves(p, of_halves, halves);
  ASSERT_TRUE(ops::StreamingAttention(narrow, Allocator::Heap()).ok());
  EXPECT_EQ(std::memcmp(y.data(), of_halves.data(), y.size() * sizeof(float)), 0);
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

TEST(StreamingAttentionTest, ProductsInBf16) {
  if (!ops::ThisCpu().amx_bf16) GTEST_SKIP() << "needs AMX";
  std::mt19937 generator(Seed());
  const float lowest = std::numeric_limits<float>::lowest();
  // The last one is too long for whole rows.
  for (const auto& [queries, keys] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 31}, {33, 64}, {70, 97}, {40, 300}, {2, 9000}}) {
    SCOPED_TRACE(::testing::Message() << queries << " queries, " << keys << " keys");
    ops::AttentionProblem p = Sizes(queries, keys);
    CheckBf16(p, generator);
    p.head_size = 40;
    p.value_size = 70;
    CheckBf16(p, generator);
    p.causal = true;
    CheckBf16(p, generator);
    p.left_window = 20;
    p.softcap = 3;
    CheckBf16(p, generator);
    std::vector<float> bias(queries * keys);
    for (float& number : bias) number = generator() % 3 == 0 ? lowest : 0.5F;
    p = Sizes(queries, keys);
    p.bias = {bias.data(), 0, 0, keys, 1};
    CheckBf16(p, generator);
    p.bias.query = 0;
    CheckBf16(p, generator);
    // Blocks on the diagonal, whose queries need no other keys; but a query without any block has
    // equal scores, and needs them all.
    for (const bool has_empty_rows : {false, true}) {
      for (int64_t i = 0; i < queries * keys; ++i) {
        const bool empty = has_empty_rows && i / keys % 40 == 33;
        bias[i] = !empty && i / keys / 32 == i % keys / 80 ? 0.5F : -10000.0F;
      }
      p.bias.query = keys;
      CheckBf16(p, generator);
    }
    const std::vector<float> sinks = {0.5F, -1, 2, 0};
    p.sinks = {sinks.data(), 0, 1, 0, 0};
    p.bias = {};
    std::vector<float> y;
    const Bf16Operands operands(p, generator);
    ASSERT_TRUE(ops::StreamingAttention(operands.Floats(p, y), Allocator::Heap()).ok());
    for (const float number : y) EXPECT_TRUE(std::isfinite(number));
  }
}

// A query whose scores are NaN gives NaN, or masked_row if the problem says so, and no other does.
TEST(StreamingAttentionTest, NanStaysInItsRowInBf16) {
  if (!ops::ThisCpu().amx_bf16) GTEST_SKIP() << "needs AMX";
  std::mt19937 generator(Seed());
  for (const bool is_zero : {false, true}) {
    ops::AttentionProblem p = Sizes(50, 90);
    p.nan_row_is_zero = is_zero;
    Laid q = Lay("bsnh", 2, 50, 4, 20, generator);
    const Laid k = Lay("bsnh", 2, 90, 2, 20, generator);
    const Laid v = Lay("bsnh", 2, 90, 2, 12, generator);
    Laid y = Lay("bsnh", 2, 50, 4, 12, generator);
    q.data[At(q.strides, 1, 37, 2, 5)] = NAN;
    Connect(q, k, v, y, p);
    p.y = y.data.data();
    p.bf16 = true;
    ASSERT_TRUE(ops::StreamingAttention(p, Allocator::Heap()).ok());
    for (int64_t s = 0; s < p.queries; ++s) {
      const float number = y.data[At(y.strides, 1, s, 2, 0)];
      if (s != 37) {
        EXPECT_TRUE(std::isfinite(number) && number != 0) << s;
      } else if (is_zero) {
        EXPECT_EQ(number, 0);
      } else {
        EXPECT_TRUE(std::isnan(number));
      }
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

void ExpectSkippingTilesChangesNoBit(bool bf16) {
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
  p.bf16 = bf16;
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

TEST(StreamingAttentionTest, SkippingTilesChangesNoBit) { ExpectSkippingTilesChangesNoBit(false); }

TEST(StreamingAttentionTest, SkippingTilesChangesNoBitInBf16) {
  if (!ops::ThisCpu().amx_bf16) GTEST_SKIP() << "needs AMX";
  ExpectSkippingTilesChangesNoBit(true);
}

// Expects finite results if what is behind the first `unmasked` keys is NaN.
void ExpectReadsOnly(int64_t unmasked, bool bf16) {
  std::mt19937 generator(Seed());
  const int64_t valid[] = {unmasked, unmasked};
  const int64_t offset[] = {unmasked - 3, unmasked - 3};
  std::unique_ptr<bool[]> mask(new bool[200]);
  for (int64_t t = 0; t < 200; ++t) mask[t] = t < unmasked;
  ops::AttentionProblem by_count = Sizes(3, 200);
  by_count.valid_keys = valid;
  ops::AttentionProblem by_position = Sizes(3, 200);
  by_position.causal = true;
  by_position.query_offsets = offset;
  ops::AttentionProblem by_mask = Sizes(3, 200);
  by_mask.mask = {mask.get(), 0, 0, 0, 1};
  // The sequence is the outermost axis, so the keys from `unmasked` on are the end of the data.
  const Laid q = Lay("sbnh", 2, 3, 4, 20, generator);
  Laid k = Lay("sbnh", 2, 200, 2, 20, generator);
  Laid v = Lay("sbnh", 2, 200, 2, 12, generator);
  Laid y = Lay("sbnh", 2, 3, 4, 12, generator);
  std::fill(k.data.begin() + unmasked * k.strides.sequence, k.data.end(), NAN);
  std::fill(v.data.begin() + unmasked * v.strides.sequence, v.data.end(), NAN);
  for (ops::AttentionProblem p : {by_count, by_position, by_mask}) {
    // In bf16, a mask leaves out whole tiles.
    if (bf16 && p.mask.data != nullptr && unmasked % 64 != 0) continue;
    Connect(q, k, v, y, p);
    p.y = y.data.data();
    p.bf16 = bf16;
    ASSERT_TRUE(ops::StreamingAttention(p, Allocator::Heap()).ok());
    for (const float value : y.data) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(StreamingAttentionTest, MaskedTilesAreNotRead) {
  for (const int64_t unmasked : {64, 50}) {
    ExpectReadsOnly(unmasked, false);
    if (ops::ThisCpu().amx_bf16) ExpectReadsOnly(unmasked, true);
  }
}

}  // namespace
}  // namespace attnrun::testing
