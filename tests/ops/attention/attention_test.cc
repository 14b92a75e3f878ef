// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/elements.h"
#include "core/parallel.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

enum class Mask { kNone, kBool, kFloat };

struct Case {
  int64_t batch, query_heads, kv_heads, queries, keys, head_size, value_size;
  int64_t past = 0;
  Mask mask = Mask::kNone;
  std::vector<int64_t> mask_shape = {};
  bool causal = false;
  bool merged = false;
  bool valid = false;
  float softcap = 0;
  int64_t left = -1, right = -1;
  DataType type = DataType::kFloat;
};

Tensor RandomBools(const std::vector<int64_t>& shape, std::mt19937& generator) {
  return RandomInts(DataType::kBool, shape, generator, 0, 1);
}

OpTester Build(const Case& c, std::mt19937& generator) {
  OpTester op("Attention", 25);
  auto floats = [&](const std::vector<int64_t>& shape) {
    return Converted(RandomFloats(shape, generator), c.type);
  };
  if (c.merged) {
    op.Attribute("q_num_heads", c.query_heads).Attribute("kv_num_heads", c.kv_heads);
    op.Input(floats({c.batch, c.queries, c.query_heads * c.head_size}));
    op.Input(floats({c.batch, c.keys, c.kv_heads * c.head_size}));
    op.Input(floats({c.batch, c.keys, c.kv_heads * c.value_size}));
  } else {
    op.Input(floats({c.batch, c.query_heads, c.queries, c.head_size}));
    op.Input(floats({c.batch, c.kv_heads, c.keys, c.head_size}));
    op.Input(floats({c.batch, c.kv_heads, c.keys, c.value_size}));
  }
  if (c.mask == Mask::kNone) op.NoInput();
  if (c.mask == Mask::kBool) op.Input(RandomBools(c.mask_shape, generator));
  if (c.mask == Mask::kFloat) op.Input(floats(c.mask_shape));
  if (c.past > 0) {
    op.Input(floats({c.batch, c.kv_heads, c.past, c.head_size}));
    op.Input(floats({c.batch, c.kv_heads, c.past, c.value_size}));
  } else {
    op.NoInput().NoInput();
  }
  if (c.valid) op.Input(RandomInts(DataType::kInt64, {c.batch}, generator, 0, c.keys));
  op.Attribute("is_causal", int64_t{c.causal}).Attribute("softcap", c.softcap);
  op.Attribute("left_window_size", c.left).Attribute("right_window_size", c.right);
  return op.Outputs(c.valid ? 1 : 3);
}

TEST(AttentionTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const Case cases[] = {
      {1, 1, 1, 1, 1, 1, 1},
      {2, 3, 3, 5, 7, 8, 8},
      {1, 2, 2, 70, 130, 32, 40},
      {1, 2, 2, 65, 64, 64, 64, 0, Mask::kNone, {}, true},
      {2, 4, 2, 33, 65, 20, 7, 0, Mask::kNone, {}, true},
      {1, 6, 1, 3, 200, 16, 96, 0, Mask::kNone, {}, false},
      {2, 2, 2, 9, 70, 12, 12, 0, Mask::kBool, {2, 1, 1, 70}},
      {2, 4, 2, 9, 70, 12, 12, 0, Mask::kBool, {4, 9, 70}, true},
      {2, 2, 2, 9, 70, 12, 12, 0, Mask::kFloat, {9, 1}, false, true},
      {2, 2, 2, 9, 128, 12, 12, 0, Mask::kFloat, {2, 2, 9, 128}, true},
      {2, 2, 1, 9, 100, 12, 12, 0, Mask::kFloat, {2, 1, 9, 77}},
      {2, 4, 2, 5, 6, 8, 8, 100, Mask::kNone, {}, true, true},
      {1, 2, 2, 1, 1, 64, 64, 300, Mask::kNone, {}, true},
      {3, 2, 1, 4, 90, 8, 8, 0, Mask::kNone, {}, true, false, true},
      {3, 2, 1, 4, 90, 8, 8, 0, Mask::kBool, {3, 1, 4, 90}, false, true, true},
      {1, 2, 2, 20, 80, 8, 8, 0, Mask::kNone, {}, false, false, false, 3},
      {1, 2, 2, 150, 150, 8, 8, 0, Mask::kNone, {}, true, false, false, 0, 10},
      {1, 2, 2, 90, 150, 8, 8, 0, Mask::kBool, {90, 150}, false, false, false, 0, 70, 3},
      {2, 2, 2, 3, 5, 8, 8, 0, Mask::kNone, {}, false, false, false, 0, 0, 0},
      {1,
       2,
       2,
       20,
       70,
       16,
       16,
       0,
       Mask::kFloat,
       {70},
       true,
       false,
       false,
       0,
       -1,
       -1,
       DataType::kFloat16},
      {1,
       2,
       2,
       20,
       70,
       16,
       16,
       3,
       Mask::kNone,
       {},
       true,
       true,
       false,
       0,
       -1,
       -1,
       DataType::kBfloat16},
      {2, 2, 2, 0, 5, 8, 8},
      {0, 2, 2, 4, 5, 8, 8},
      {1, 2, 2, 4, 0, 8, 8},
      {1, 2, 2, 4, 5, 8, 0},
  };
  for (const Case& c : cases) {
    const OpTester op = Build(c, generator);
    const auto kernel = op.Kernel();
    const auto reference = op.Reference();
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    ASSERT_TRUE(reference.ok()) << reference.status();
    SCOPED_TRACE(TypeAndShape((*reference)[0]));
    // Scores up to a few dozen are off by about sqrt(head size) roundings, which become relative
    // errors of their weights. A float16 result is rounded once more, perhaps to the other
    // neighbor.
    const double tolerance = c.type == DataType::kFloat ? 100 * kEpsilon : Epsilon(c.type);
    ExpectClose((*kernel)[0], (*reference)[0], tolerance);
    for (size_t i = 1; i < kernel->size(); ++i) ExpectClose((*kernel)[i], (*reference)[i], 0);
  }
}

TEST(AttentionTest, ScoresAtEachStage) {
  // Scores 1 and 2, capped at 1, with an additive mask (0, 0.5).
  auto scores = [](int64_t mode) {
    OpTester op("Attention", 23);
    op.Attribute("qk_matmul_output_mode", mode).Attribute("softcap", 1.0F);
    op.Attribute("scale", 1.0F).Outputs(4);
    op.Input(Make<float>({1, 1, 1, 1}, {1})).Input(Make<float>({1, 1, 2, 1}, {1, 2}));
    op.Input(Make<float>({1, 1, 2, 1}, {0, 1})).Input(Make<float>({2}, {0, 0.5F}));
    return op.Reference().value()[3];
  };
  const float a = std::tanh(1.0F);
  const float b = std::tanh(2.0F);
  const float p = 1 / (1 + std::exp(a - b - 0.5F));
  ExpectClose(scores(0), Make<float>({1, 1, 1, 2}, {1, 2}), 0);
  ExpectClose(scores(1), Make<float>({1, 1, 1, 2}, {a, b}), kEpsilon);
  ExpectClose(scores(2), Make<float>({1, 1, 1, 2}, {a, b + 0.5F}), kEpsilon);
  ExpectClose(scores(3), Make<float>({1, 1, 1, 2}, {1 - p, p}), 4 * kEpsilon);
}

TEST(AttentionTest, FullyMaskedRowsGiveZero) {
  for (const Tensor& mask : {MakeBool({2, 1}, {0, 1}), Make<float>({2, 1}, {-kInf, 0})}) {
    OpTester op("Attention", 23);
    op.Input(Make<float>({1, 1, 2, 1}, {1, 1})).Input(Make<float>({1, 1, 2, 1}, {1, 1}));
    op.Input(Make<float>({1, 1, 2, 1}, {2, 4})).Input(mask);
    ExpectClose(op.Reference().value()[0], Make<float>({1, 1, 2, 1}, {0, 3}), 0);
    ExpectClose(op.Kernel().value()[0], Make<float>({1, 1, 2, 1}, {0, 3}), 0);
  }
}

TEST(AttentionTest, RowsMaskedByAFiniteNumberAreAverages) {
  std::mt19937 generator(Seed());
  // Scores vanish beside either number. No key is unmasked, or only one that comes after deferred
  // tiles.
  for (const auto& [number, unmasked] :
       std::vector<std::pair<float, bool>>{{std::numeric_limits<float>::lowest(), false},
                                           {std::numeric_limits<float>::lowest(), true},
                                           {-1e9F, false},
                                           {-1e9F, true}}) {
    std::vector<float> bias(200, number);
    if (unmasked) bias[130] = 0;
    OpTester op("Attention", 23);
    op.Input(RandomFloats({1, 1, 3, 8}, generator)).Input(RandomFloats({1, 1, 200, 8}, generator));
    op.Input(RandomFloats({1, 1, 200, 8}, generator)).Input(Make<float>({200}, bias));
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 20 * kEpsilon);
  }
}

TEST(AttentionTest, BitsDependOnTheRowAlone) {
  std::mt19937 generator(Seed());
  // More rows than a block has, keys in several tiles, and grouped heads.
  const Tensor q = RandomFloats({2, 4, 150, 24}, generator);
  const Tensor k = RandomFloats({2, 2, 150, 24}, generator);
  const Tensor v = RandomFloats({2, 2, 150, 24}, generator);
  auto run = [](const Tensor& a, const Tensor& b, const Tensor& c, int threads,
                const Tensor& mask = {}) {
    const int before = NumThreads();
    SetNumThreads(threads);
    OpTester op("Attention", 23);
    op.Input(a).Input(b).Input(c).Input(mask);
    if (!mask.defined()) op.Attribute("is_causal", int64_t{1});
    Tensor y = op.Kernel().value()[0];
    SetNumThreads(before);
    return y;
  };
  auto part = [](const Tensor& x, int64_t batch, int64_t begin, int64_t end) {
    const int64_t heads = x.dim(1);
    const int64_t rows = x.dim(2);
    const int64_t size = x.dim(3);
    return x
        .View({1, heads, end - begin, size}, {heads * rows * size, rows * size, size, 1},
              (batch * heads * rows + begin) * size)
        .Dense()
        .value();
  };
  const Tensor all = run(q, k, v, 1);
  ExpectClose(run(q, k, v, 3), all, 0);
  // The second sample alone and cut shorter; then its last query alone, with a mask in place of
  // causality.
  const Tensor shorter = run(part(q, 1, 0, 77), part(k, 1, 0, 77), part(v, 1, 0, 77), 2);
  ExpectClose(shorter, part(all, 1, 0, 77), 0);
  std::vector<int> unmasked(150, 0);
  std::fill_n(unmasked.begin(), 77, 1);
  const Tensor last =
      run(part(q, 1, 76, 77), part(k, 1, 0, 150), part(v, 1, 0, 150), 1, MakeBool({150}, unmasked));
  ExpectClose(last, part(all, 1, 76, 77), 0);
}

TEST(AttentionTest, ErrorsSayWhatIsWrong) {
  auto floats = [](const std::vector<int64_t>& shape) {
    std::mt19937 generator(1);
    return RandomFloats(shape, generator);
  };
  const Tensor x = floats({1, 2, 3, 4});
  const Tensor flat = floats({1, 3, 8});
  struct {
    std::vector<Tensor> inputs;
    const char* attribute;
    AttributeValue value;
    const char* message;
  } const cases[] = {
      {{x, x, flat}, "", {}, "all of rank 3 or all of rank 4"},
      {{flat, flat, flat}, "", {}, "expected q_num_heads to divide the width"},
      {{flat, flat, flat}, "q_num_heads", int64_t{3}, "but it is 3"},
      {{flat, flat, flat}, "q_num_heads", int64_t{-2}, "but it is -2"},
      {{x, x, x}, "q_num_heads", int64_t{3}, "q_num_heads is 3, but there are 2 heads"},
      {{x, floats({1, 2, 3, 5}), x}, "", {}, "do not fit together"},
      {{floats({1, 3, 3, 4}), x, x}, "", {}, "do not fit together"},
      {{x, floats({1, 0, 3, 4}), floats({1, 0, 3, 4})}, "", {}, "do not fit together"},
      {{floats({1, 2, 3, 0}), floats({1, 2, 3, 0}), x}, "", {}, "do not fit together"},
      {{x, x, floats({1, 2, 4, 4})}, "", {}, "do not fit together"},
      {{x, x, x, floats({4, 3})}, "", {}, "does not broadcast"},
      {{x, x, x, floats({2, 1, 2, 3, 3})}, "", {}, "does not broadcast"},
      {{x, x, x, {}, x}, "", {}, "must be given together"},
      {{x, x, x, {}, x, floats({1, 2, 4, 4})},
       "",
       {},
       "past_key holds 3 keys, but past_value holds 4"},
      {{x, x, x, {}, floats({1, 2, 3, 5}), x}, "", {}, "expected past keys and values"},
      {{x, x, x, {}, {}, {}, Make<int64_t>({1}, {4})}, "", {}, "is outside [0,3]"},
      {{x, x, x, {}, {}, {}, Make<int64_t>({2}, {1, 1})}, "", {}, "expected nonpad_kv_seqlen"},
      {{x, x, x}, "left_window_size", int64_t{-2}, "at least -1"},
      {{x, x, x}, "qk_matmul_output_mode", int64_t{4}, "qk_matmul_output_mode 0 to 3"},
      {{x, x, x}, "softmax_precision", int64_t{7}, "softmax_precision"},
      {{Converted(x, DataType::kDouble), x, x}, "", {}, "expected K to be double as Q"},
      {{RandomInts(DataType::kInt64, {1, 2, 3, 4}, *std::make_unique<std::mt19937>(1), 0, 1), x, x},
       "",
       {},
       "expected Q, K and V to be floats"},
  };
  for (const auto& c : cases) {
    OpTester op("Attention", 25);
    for (const Tensor& input : c.inputs) op.Input(input);
    if (*c.attribute != '\0') op.Attribute(c.attribute, c.value);
    EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr(c.message));
    EXPECT_FALSE(op.Kernel().ok());
  }
}

TEST(AttentionTest, AMaskOfOneKeyBroadcastsBeforeVersion24AndIsPaddedSince) {
  for (const int opset : {23, 24}) {
    OpTester op("Attention", opset);
    op.Input(Make<float>({1, 1, 1, 1}, {0})).Input(Make<float>({1, 1, 2, 1}, {1, 1}));
    op.Input(Make<float>({1, 1, 2, 1}, {2, 4})).Input(Make<float>({1, 1}, {0}));
    const Tensor expected = Make<float>({1, 1, 1, 1}, {opset == 23 ? 3.0F : 2.0F});
    ExpectClose(op.Reference().value()[0], expected, 0);
    ExpectClose(op.Kernel().value()[0], expected, 0);
  }
}

}  // namespace
}  // namespace attnrun::testing
