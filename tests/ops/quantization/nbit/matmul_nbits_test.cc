// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

// A quantized weight [K, N] and the numbers it stands for.
struct Weight {
  int64_t k;
  int64_t n;
  int64_t bits;
  int64_t block;

  int64_t blocks() const { return (k + block - 1) / block; }

  Tensor codes;
  Tensor scales;
  // Undefined if there are none.
  Tensor zero_points;
  // [K, N], recorded when they are drawn, so that nothing has to be unpacked.
  std::vector<double> values;
};

enum class Points { kNone, kPacked, kFloats };

// Packs the codes of one column after another; each column starts at a byte boundary.
Tensor Pack(const std::vector<std::vector<int>>& rows, int64_t bits, int64_t padded,
            const Dims& shape) {
  std::vector<uint8_t> bytes(rows.size() * padded * bits / 8);
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t i = 0; i < rows[row].size(); ++i) {
      const int64_t bit = static_cast<int64_t>(row * padded + i) * bits;
      bytes[bit / 8] |= static_cast<uint8_t>(rows[row][i] << bit % 8);
    }
  }
  return Make<uint8_t>(shape, bytes);
}

Weight RandomWeight(int64_t k, int64_t n, int64_t bits, int64_t block, Points points,
                    std::mt19937& generator) {
  Weight weight{k, n, bits, block, {}, {}, {}, {}};
  const int64_t blocks = weight.blocks();
  std::uniform_int_distribution<int> code(0, (1 << bits) - 1);
  std::uniform_real_distribution<float> scale(-2, 2);
  std::vector<std::vector<int>> codes(n, std::vector<int>(k));
  std::vector<std::vector<int>> zeros(n, std::vector<int>(blocks, 1 << (bits - 1)));
  std::vector<float> scales(n * blocks);
  std::vector<float> float_zeros(n * blocks);
  weight.values.resize(k * n);
  for (float& s : scales) s = scale(generator);
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t b = 0; b < blocks; ++b) {
      if (points != Points::kNone) zeros[column][b] = code(generator);
      // Float zero points lie between two codes.
      const double half = points == Points::kFloats ? 0.5 : 0;
      float_zeros[column * blocks + b] = static_cast<float>(zeros[column][b] + half);
    }
    for (int64_t i = 0; i < k; ++i) {
      const int64_t b = column * blocks + i / block;
      codes[column][i] = code(generator);
      weight.values[i * n + column] = (codes[column][i] - float_zeros[b]) * double{scales[b]};
    }
  }
  weight.codes = Pack(codes, bits, blocks * block, {n, blocks, block * bits / 8});
  weight.scales = Make<float>({n, blocks}, scales);
  const int64_t row_bytes = (blocks * bits + 7) / 8;
  if (points == Points::kPacked) {
    weight.zero_points = Pack(zeros, bits, row_bytes * 8 / bits, {n, row_bytes});
  }
  if (points == Points::kFloats) weight.zero_points = Make<float>({n, blocks}, float_zeros);
  return weight;
}

OpTester Node(int64_t k, int64_t n, int64_t bits, int64_t block) {
  OpTester op("MatMulNBits", 1, "com.microsoft");
  op.Attribute("K", k).Attribute("N", n).Attribute("bits", bits).Attribute("block_size", block);
  return op;
}

OpTester Node(const Weight& w, const Tensor& a) {
  OpTester op = Node(w.k, w.n, w.bits, w.block);
  op.Input(a).Constant(w.codes).Constant(w.scales);
  if (w.zero_points.defined()) op.Constant(w.zero_points);
  return op;
}

TEST(MatMulNBitsTest, FourBitCodes) {
  // Column 0 has the codes 0, 1, ... 15 and scale 2; column 1 has only 9, scale 0.5 and zero point
  // 7.
  std::vector<uint8_t> codes;
  for (int i = 0; i < 8; ++i) codes.push_back(static_cast<uint8_t>(2 * i | (2 * i + 1) << 4));
  codes.resize(16, 0x99);
  std::vector<float> ones(16, 1);
  std::vector<float> third(16, 0);
  third[3] = 1;
  ones.insert(ones.end(), third.begin(), third.end());
  OpTester op = Node(16, 2, 4, 16);
  op.Input(Make<float>({2, 16}, ones)).Constant(Make<uint8_t>({2, 1, 8}, codes));
  op.Constant(Make<float>({2}, {2, 0.5})).Constant(Make<uint8_t>({2, 1}, {8, 7}));
  op.NoInput().Constant(Make<float>({2}, {100, 200}));
  // 2 * (0 + ... + 15 - 16 * 8) = -16, 2 * (3 - 8) = -10; 16 * 0.5 * 2 = 16, 0.5 * 2 = 1.
  const Tensor expected = Make<float>({2, 2}, {84, 216, 90, 201});
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectClose(op.Kernel().value()[0], expected, 0);
}

TEST(MatMulNBitsTest, EightBitCodes) {
  std::vector<uint8_t> codes(16, 128);
  codes[1] = 255;
  codes[15] = 0;
  std::vector<float> a(16, 1);
  a[15] = 2;
  OpTester op = Node(16, 1, 8, 16);
  op.Input(Make<float>({1, 16}, a)).Constant(Make<uint8_t>({1, 1, 16}, codes));
  op.Constant(Make<float>({1, 1}, {0.25}));
  // 0.25 * (127 - 2 * 128).
  const Tensor expected = Make<float>({1, 1}, {-32.25});
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectClose(op.Kernel().value()[0], expected, 0);
}

struct Case {
  int64_t m;
  int64_t k;
  int64_t n;
  int64_t bits;
  int64_t block;
  Points points;
};

// Quantization blocks that end before K, after K and where a block of the sum ends; words that K
// cuts.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int64_t bits : {2, 4, 8}) {
    for (const Points points : {Points::kNone, Points::kPacked, Points::kFloats}) {
      for (const auto& [m, k, n, block] : std::vector<std::array<int64_t, 4>>{{1, 64, 48, 16},
                                                                              {1, 1, 1, 16},
                                                                              {2, 333, 50, 32},
                                                                              {3, 130, 97, 64},
                                                                              {4, 257, 25, 256},
                                                                              {5, 576, 24, 32},
                                                                              {1, 700, 145, 128},
                                                                              {300, 149, 60, 32}}) {
        cases.push_back({m, k, n, bits, block, points});
      }
    }
  }
  return cases;
}

// A sum of K products, each rounded once, of weights rounded once, in chains of at most 128.
double Tolerance(const Case& c, const std::vector<double>& values, const Tensor& a) {
  double size = 0;
  for (const double value : values) size = std::max(size, std::fabs(value));
  double largest = 0;
  for (const float x : std::vector<float>(a.data<float>(), a.data<float>() + a.num_elements())) {
    largest = std::max(largest, double{std::fabs(x)});
  }
  // The errors of so many steps add up like a random walk, by at most 8 deviations.
  return 8 * kEpsilon * std::sqrt(static_cast<double>(c.k)) * size * largest;
}

TEST(MatMulNBitsTest, ReferenceAndKernelMultiplyByTheDequantizedWeight) {
  std::mt19937 generator(Seed());
  for (const Case& c : Cases()) {
    SCOPED_TRACE(absl::StrCat("m ", c.m, " k ", c.k, " n ", c.n, " bits ", c.bits, " block ",
                              c.block, " points ", static_cast<int>(c.points)));
    const Weight weight = RandomWeight(c.k, c.n, c.bits, c.block, c.points, generator);
    const Tensor a = RandomFloats({c.m, c.k}, generator);
    std::vector<float> expected(c.m * c.n);
    for (int64_t i = 0; i < c.m * c.n; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < c.k; ++k) {
        sum += double{a.data<float>()[i / c.n * c.k + k]} * weight.values[k * c.n + i % c.n];
      }
      expected[i] = static_cast<float>(sum);
    }
    const Tensor y = Make<float>({c.m, c.n}, expected);
    const OpTester op = Node(weight, a);
    ExpectClose(op.Reference().value()[0], y, 2 * kEpsilon);
    ExpectClose(op.Kernel().value()[0], y, Tolerance(c, weight.values, a));
  }
}

// Each activation is off by half a step at most, which is a 254th of the greatest in its block.
TEST(MatMulNBitsTest, ActivationsAreRoundedIfAsked) {
  std::mt19937 generator(Seed());
  const Weight weight = RandomWeight(70, 33, 4, 32, Points::kPacked, generator);
  const Tensor a = RandomFloats({5, 70}, generator);
  const Tensor exact = Node(weight, a).Kernel().value()[0];
  const Tensor rounded = Node(weight, a).In(Precision::kInt8Activations).Kernel().value()[0];
  double greatest = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    greatest = std::max<double>(greatest, std::fabs(a.data<float>()[i]));
  }
  bool differs = false;
  for (int64_t i = 0; i < exact.num_elements(); ++i) {
    double magnitudes = 0;
    for (int64_t k = 0; k < weight.k; ++k) {
      magnitudes += std::fabs(weight.values[k * weight.n + i % weight.n]);
    }
    const float difference = exact.data<float>()[i] - rounded.data<float>()[i];
    EXPECT_LE(std::fabs(difference), greatest / 254 * magnitudes * 1.01) << i;
    differs = differs || difference != 0;
  }
  EXPECT_TRUE(differs);
}

TEST(MatMulNBitsTest, HalfPrecisionIsRoundedOnce) {
  std::mt19937 generator(Seed());
  const Weight weight = RandomWeight(96, 40, 4, 32, Points::kPacked, generator);
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    OpTester op = Node(weight.k, weight.n, weight.bits, weight.block);
    op.Input(Converted(RandomFloats({2, 3, 96}, generator), type)).Constant(weight.codes);
    op.Constant(Converted(weight.scales, type)).Constant(weight.zero_points).NoInput();
    op.Constant(Converted(RandomFloats({40}, generator), type));
    const Tensor y = op.Kernel().value()[0];
    EXPECT_EQ(y.type(), type);
    EXPECT_EQ(y.shape(), (Shape{2, 3, 40}));
    // The result is rounded once, to either neighbor if the sum lies halfway.
    ExpectClose(y, op.Reference().value()[0], Epsilon(type));
  }
}

// Scales at the ends of the range show whether a kernel divides or multiplies them in advance.
TEST(MatMulNBitsTest, TinyAndHugeScalesAreExact) {
  std::mt19937 generator(Seed());
  Weight weight = RandomWeight(64, 30, 4, 32, Points::kNone, generator);
  std::vector<float> scales(60, 1);
  scales[0] = 0x1p-120F;
  scales[7] = 0x1p121F;
  scales[8] = 0;
  weight.scales = Make<float>({30, 2}, scales);
  const OpTester op = Node(weight, RandomFloats({3, 64}, generator));
  const Tensor y = op.Kernel().value()[0];
  ExpectClose(y, op.Reference().value()[0], 1e-4);
  EXPECT_TRUE(std::isfinite(y.data<float>()[3]));
}

TEST(MatMulNBitsTest, AcceptsConsecutiveGroupsOnly) {
  std::mt19937 generator(Seed());
  const Weight weight = RandomWeight(40, 3, 4, 16, Points::kPacked, generator);
  const Tensor a = RandomFloats({2, 40}, generator);
  std::vector<int32_t> groups(40);
  for (int i = 0; i < 40; ++i) groups[i] = i / 16;
  OpTester op = Node(weight, a);
  op.Constant(Make<int32_t>({40}, groups));
  ExpectClose(op.Kernel().value()[0], Node(weight, a).Kernel().value()[0], 0);
  groups[5] = 1;
  OpTester other = Node(weight, a);
  other.Constant(Make<int32_t>({40}, groups));
  EXPECT_THAT(other.Kernel().status().message(),
              HasSubstr("expected row 5 in block 0, but it is in block 1"));
}

TEST(MatMulNBitsTest, ComputedWeightsRunOnTheReference) {
  std::mt19937 generator(Seed());
  const Weight weight = RandomWeight(16, 2, 4, 16, Points::kPacked, generator);
  OpTester op = Node(16, 2, 4, 16);
  op.Input(RandomFloats({1, 16}, generator)).Constant(weight.codes).Constant(weight.scales);
  op.Input(weight.zero_points);
  EXPECT_EQ(op.Kernel().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(op.Reference().ok());
}

struct Refused {
  Dims attributes;  // K, N, bits, block_size
  Dims codes;
  Dims scales;
  std::string message;
};

TEST(MatMulNBitsTest, RefusesInvalidWeights) {
  const int64_t huge = INT64_MAX;
  for (const Refused& r : std::vector<Refused>{
           {{32, 2, 4, 0}, {2, 2, 8}, {2, 2}, "expected block_size to be a power of two"},
           {{32, 2, 4, 24}, {2, 2, 12}, {2, 2}, "but found 24"},
           {{32, 2, 4, huge}, {2, 2, 8}, {2, 2}, "expected block_size"},
           {{32, 2, 3, 16}, {2, 2, 6}, {2, 2}, "expected bits to be 2, 4 or 8, but found 3"},
           {{32, huge, 4, 16}, {2, 2, 8}, {2, 2}, "expected K and N from 1 to 2^31"},
           {{huge, 2, 4, 16}, {2, 2, 8}, {2, 2}, "expected K and N"},
           {{0, 2, 4, 16}, {2, 0, 8}, {2, 0}, "expected K and N"},
           {{-32, 2, 4, 16}, {2, 2, 8}, {2, 2}, "expected K and N"},
           {{32, 2, 4, 16}, {2, 2, 4}, {2, 2}, "expected B to be uint8[2,2,8], but it is"},
           {{32, 2, 4, 16}, {2, 16}, {2, 2}, "expected B to be uint8[2,2,8]"},
           {{48, 2, 4, 16}, {2, 2, 8}, {2, 2}, "expected B to be uint8[2,3,8]"},
           {{32, 2, 4, 16}, {2, 2, 8}, {2, 3}, "expected scales to be floats [2,2]"}}) {
    OpTester op = Node(r.attributes[0], r.attributes[1], r.attributes[2], r.attributes[3]);
    std::mt19937 generator(Seed());
    op.Input(RandomFloats({1, 32}, generator));
    op.Constant(RandomInts(DataType::kUint8, r.codes, generator, 0, 255));
    op.Constant(RandomFloats(r.scales, generator));
    EXPECT_THAT(op.Reference().status().message(), HasSubstr(r.message));
    EXPECT_THAT(op.Kernel().status().message(), HasSubstr(r.message));
  }
}

TEST(MatMulNBitsTest, RefusesInvalidInputs) {
  std::mt19937 generator(Seed());
  const Weight weight = RandomWeight(32, 2, 4, 16, Points::kNone, generator);
  const OpTester narrow = Node(weight, RandomFloats({1, 31}, generator));
  EXPECT_THAT(narrow.Kernel().status().message(), HasSubstr("expected A to be floats [..., 32]"));
  OpTester points = Node(weight, RandomFloats({1, 32}, generator));
  points.Constant(RandomInts(DataType::kUint8, {2, 2}, generator, 0, 255));
  EXPECT_THAT(points.Kernel().status().message(), HasSubstr("zero_points to be uint8[2,1]"));
  OpTester bias = Node(weight, RandomFloats({1, 32}, generator));
  bias.NoInput().NoInput().Constant(RandomFloats({3}, generator));
  EXPECT_THAT(bias.Kernel().status().message(), HasSubstr("bias to be floats [2]"));
  OpTester prepacked = Node(weight, RandomFloats({1, 32}, generator));
  prepacked.Attribute("weight_prepacked", int64_t{1});
  EXPECT_EQ(prepacked.Kernel().status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace attnrun::testing
