// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <tuple>
#include <vector>

#include "core/elements.h"
#include "core/parallel.h"
#include "ops/gemm/int8_panels.h"
#include "support/op_tester.h"

// Compares the kernel of MatMulInteger with the reference; integers need no tolerance.
namespace attnrun::testing {
namespace {

constexpr int kExact = 0;

// The range of a type.
std::pair<int64_t, int64_t> RangeOf(DataType type) {
  return type == DataType::kInt8 ? std::pair(-128, 127) : std::pair(0, 255);
}

struct Operand {
  DataType type;
  std::vector<int64_t> shape;
  // The shape of the zero points; empty if there are none.
  std::optional<std::vector<int64_t>> zero_points;
};

Tensor Random(DataType type, const std::vector<int64_t>& shape, std::mt19937& generator) {
  const auto [low, high] = RangeOf(type);
  return RandomInts(type, shape, generator, low, high);
}

void ExpectKernelAgrees(const Operand& a, const Operand& b, bool constant) {
  std::mt19937 generator(Seed());
  OpTester op("MatMulInteger", 10);
  op.Input(Random(a.type, a.shape, generator));
  const auto add_b = [&](Tensor tensor) {
    constant ? op.Constant(std::move(tensor)) : op.Input(std::move(tensor));
  };
  add_b(Random(b.type, b.shape, generator));
  if (a.zero_points.has_value() || b.zero_points.has_value()) {
    if (a.zero_points.has_value()) {
      op.Input(Random(a.type, *a.zero_points, generator));
    } else {
      op.NoInput();
    }
  }
  if (b.zero_points.has_value()) add_b(Random(b.type, *b.zero_points, generator));
  const auto expected = op.Reference();
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const int threads : {1, 2, 5}) {
    SetNumThreads(threads);
    const auto actual = op.Kernel();
    ASSERT_TRUE(actual.ok()) << actual.status();
    ExpectClose((*actual)[0], (*expected)[0], kExact);
  }
  SetNumThreads(2);
}

constexpr DataType kTypes[] = {DataType::kInt8, DataType::kUint8};

TEST(MatMulIntegerKernelTest, HandlesTailsOfAllExtents) {
  const std::vector<std::tuple<int64_t, int64_t, int64_t>> extents = {
      {1, 1, 1},   {1, 2, 16},  {2, 3, 17},    {5, 31, 15},    {6, 64, 64},
      {7, 65, 33}, {13, 9, 65}, {64, 384, 96}, {129, 77, 130}, {300, 18, 7},
      {3, 0, 5},   {0, 4, 5},   {4, 5, 0},     {1, 1537, 40}};
  for (const auto& [m, k, n] : extents) {
    for (const DataType a : kTypes) {
      for (const DataType b : kTypes) {
        SCOPED_TRACE(::testing::Message() << m << " x " << k << " x " << n);
        ExpectKernelAgrees({a, {m, k}, std::vector<int64_t>{}}, {b, {k, n}, std::vector<int64_t>{}},
                           true);
        ExpectKernelAgrees({a, {m, k}, {}}, {b, {k, n}, {}}, false);
      }
    }
  }
}

TEST(MatMulIntegerKernelTest, HandlesZeroPointsPerRowAndColumnAndStacks) {
  using Dims = std::vector<int64_t>;
  for (const DataType type : kTypes) {
    ExpectKernelAgrees({type, {9, 8}, Dims{9}}, {type, {8, 21}, Dims{21}}, true);
    ExpectKernelAgrees({type, {9, 8}, Dims{9, 1}}, {type, {8, 21}, Dims{1, 21}}, false);
    ExpectKernelAgrees({type, {2, 3, 9, 8}, {}}, {type, {8, 21}, Dims{21}}, true);
    ExpectKernelAgrees({type, {2, 3, 9, 8}, Dims{2, 1, 9, 1}}, {type, {3, 8, 5}, Dims{3, 1, 5}},
                       false);
    ExpectKernelAgrees({type, {2, 1, 9, 8}, Dims{1}}, {type, {1, 3, 8, 5}, Dims{}}, true);
    ExpectKernelAgrees({type, {8}, {}}, {type, {8, 5}, Dims{5}}, true);
    ExpectKernelAgrees({type, {3, 8}, {}}, {type, {8}, {}}, false);
  }
}

// Few pairs of weights exceed 16 bits when they are multiplied, as in real models; or none, or all.
TEST(MatMulIntegerKernelTest, HandlesWeightsOfAllSizes) {
  std::mt19937 generator(Seed());
  for (const DataType type : kTypes) {
    const int64_t middle = type == DataType::kInt8 ? 0 : 128;
    for (const int64_t rare : {0, 1, 40, 1000}) {
      const std::vector<int64_t> shape = {130, 71};
      std::vector<int64_t> weights =
          ToInts(RandomInts(DataType::kInt64, shape, generator, -50, 50)).value();
      for (int64_t i = 0; i < rare; ++i) {
        weights[generator() % weights.size()] = generator() % 2 == 0 ? 127 : -128;
      }
      for (int64_t& weight : weights) weight += middle;
      for (const DataType a : kTypes) {
        OpTester op("MatMulInteger", 10);
        op.Input(Random(a, {23, 130}, generator));
        op.Constant(FromInts(type, shape, weights).value());
        op.Input(Random(a, {}, generator)).Constant(Random(type, {}, generator));
        ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], kExact);
      }
    }
  }
}

TEST(Int8PanelsTest, EqualWeightsAreStoredOnce) {
  const Tensor a = Make<int8_t>({2, 2}, {100, 2, 120, -4});
  const Tensor same = Make<int8_t>({2, 2}, {100, 2, 120, -4});
  // Stored as the same numbers; only the saturation correction of the first pair differs.
  const Tensor other = Make<int8_t>({2, 2}, {101, 2, 120, -4});
  const auto pack = [](const Tensor& w) {
    return ops::Int8Panels::PackShared({ops::Int8Matrix{&w, 0, 2, 2}}, nullptr).value();
  };
  const auto packed = pack(a);
  EXPECT_EQ(packed, pack(same));
  EXPECT_NE(packed, pack(other));
}

// The largest possible products: pairs of them must not saturate, and sums may exceed 2^24.
TEST(MatMulIntegerKernelTest, LargestNumbersAreExact) {
  constexpr int64_t kDepth = 3001;
  OpTester op("MatMulInteger", 10);
  op.Input(Make<uint8_t>({1, kDepth}, std::vector<uint8_t>(kDepth, 255)));
  op.Constant(Make<int8_t>({kDepth, 1}, std::vector<int8_t>(kDepth, -128)));
  op.Input(Make<uint8_t>({}, {0})).Constant(Make<int8_t>({}, {127}));
  ExpectClose(op.Kernel().value()[0], Make<int32_t>({1, 1}, {-255 * 255 * 3001}), kExact);
}

}  // namespace
}  // namespace attnrun::testing
