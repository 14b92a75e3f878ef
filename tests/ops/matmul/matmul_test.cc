// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Dims = std::vector<int64_t>;

// Elements are sums of `k` products of numbers of order 1. Partial sums are of order sqrt(k), and
// the errors of their k roundings, half an epsilon each, add up like a random walk, too: on average
// to 0.2 epsilons times k. Among thousands of elements some have several times that error.
double Tolerance(DataType type, int64_t k) {
  return Epsilon(type) + 2 * kEpsilon * static_cast<double>(k);
}

struct Case {
  Dims a;
  Dims b;
};

class MatMulTest : public ::testing::TestWithParam<Case> {};

TEST_P(MatMulTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16}) {
    for (const bool constant : {false, true}) {
      const Tensor a = Converted(RandomFloats(GetParam().a, generator), type);
      const Tensor b = Converted(RandomFloats(GetParam().b, generator), type);
      OpTester op("MatMul", 13);
      op.Input(a);
      constant ? op.Constant(b) : op.Input(b);
      SCOPED_TRACE(TypeAndShape(a) + " x " + TypeAndShape(b));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                  Tolerance(type, GetParam().a.back()));
    }
  }
}

// Tails of rows, columns and K around the sizes of tiles, panels and blocks; NumPy's rules.
INSTANTIATE_TEST_SUITE_P(
    Shapes, MatMulTest,
    ::testing::Values(Case{{1, 1}, {1, 1}}, Case{{3, 5}, {5, 7}}, Case{{1, 64}, {64, 130}},
                      Case{{2, 33}, {33, 31}}, Case{{5, 16}, {16, 33}}, Case{{7, 17}, {17, 65}},
                      Case{{13, 384}, {384, 48}}, Case{{24, 385}, {385, 63}},
                      Case{{25, 769}, {769, 17}}, Case{{40, 20}, {20, 97}},
                      Case{{300, 24}, {24, 40}}, Case{{257, 400}, {400, 33}}, Case{{6}, {6}},
                      Case{{6}, {6, 4}}, Case{{4, 6}, {6}}, Case{{6}, {3, 6, 2}},
                      Case{{3, 2, 6}, {6}}, Case{{2, 3, 4, 5}, {5, 6}},
                      Case{{2, 3, 4, 5}, {2, 3, 5, 6}}, Case{{2, 1, 4, 5}, {3, 5, 6}},
                      Case{{1, 4, 5}, {7, 5, 2}}, Case{{7, 4, 5}, {1, 5, 2}},
                      Case{{5, 40, 64}, {5, 64, 40}}, Case{{0, 3}, {3, 2}}, Case{{2, 0}, {0, 3}},
                      Case{{2, 3}, {3, 0}}, Case{{0, 2, 3}, {3, 4}}, Case{{0, 2, 3}, {0, 3, 4}}));

TEST(MatMulReferenceTest, FollowsNumpy) {
  OpTester op("MatMul", 13);
  op.Input(Make<float>({2, 1, 2}, {1, 2, 3, 4})).Input(Make<float>({2, 2}, {5, 6, 7, 8}));
  ExpectClose(op.Reference().value()[0], Make<float>({2, 1, 2}, {19, 22, 43, 50}), 0);
  OpTester dot("MatMul", 13);
  dot.Input(Make<int32_t>({2}, {1 << 30, 3})).Input(Make<int32_t>({2}, {4, 5}));
  ExpectClose(dot.Reference().value()[0], Make<int32_t>({}, {15}), 0);
}

TEST(MatMulReferenceTest, ErrorsSayWhatIsWrong) {
  const auto message = [](Tensor a, Tensor b) {
    OpTester op("MatMul", 13);
    op.Input(std::move(a)).Input(std::move(b));
    return std::string(op.Reference().status().message());
  };
  const auto zeros = [](const Dims& dims) {
    return FromDoubles(DataType::kFloat, dims, std::vector<double>(NumElements(dims).value()))
        .value();
  };
  EXPECT_EQ(message(zeros({2, 3}), zeros({4, 2})),
            "A[2,3] and B[4,2] cannot be multiplied: K is 3 in A, but 4 in B");
  EXPECT_EQ(message(zeros({}), zeros({4, 2})),
            "A[] and B[4,2] cannot be multiplied: expected at least one axis each");
  EXPECT_EQ(message(zeros({2, 2, 3}), zeros({3, 3, 1})),
            "A[2,2,3] and B[3,3,1] cannot be multiplied: shapes [2] and [3] do not broadcast");
  EXPECT_THAT(message(zeros({2, 3}), Make<int32_t>({3, 1}, {1, 2, 3})),
              ::testing::HasSubstr("A is float[2,3] and B is int32[3,1]"));
}

TEST(MatMulReferenceTest, HugeResultsOfEmptyOperandsAreRefused) {
  const int64_t huge = int64_t{1} << 28;
  OpTester op("MatMul", 13);
  op.Input(FromDoubles(DataType::kFloat, {huge, 0}, {}).value());
  op.Input(FromDoubles(DataType::kFloat, {0, huge}, {}).value());
  EXPECT_EQ(op.Kernel().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(op.Reference().status().code(), absl::StatusCode::kResourceExhausted);
}

struct GemmCase {
  Dims a;
  Dims b;
  // Empty if there is no C.
  std::vector<Dims> c;
  float alpha = 1;
  float beta = 1;
  bool transpose_a = false;
  bool transpose_b = false;
};

class GemmTest : public ::testing::TestWithParam<GemmCase> {};

TEST_P(GemmTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const GemmCase& param = GetParam();
  for (const DataType type : {DataType::kFloat, DataType::kFloat16}) {
    for (const bool constant : {false, true}) {
      OpTester op("Gemm", 13);
      op.Attribute("alpha", param.alpha).Attribute("beta", param.beta);
      op.Attribute("transA", int64_t{param.transpose_a});
      op.Attribute("transB", int64_t{param.transpose_b});
      const Tensor b = Converted(RandomFloats(param.b, generator), type);
      op.Input(Converted(RandomFloats(param.a, generator), type));
      constant ? op.Constant(b) : op.Input(b);
      for (const Dims& c : param.c) op.Input(Converted(RandomFloats(c, generator), type));
      SCOPED_TRACE(TypeAndShape(b));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                  Tolerance(type, param.a[param.transpose_a ? 0 : 1]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, GemmTest,
    ::testing::Values(GemmCase{{3, 4}, {4, 5}, {}}, GemmCase{{3, 4}, {4, 5}, {{5}}},
                      GemmCase{{3, 4}, {4, 5}, {{}}, 2, .5}, GemmCase{{3, 4}, {4, 5}, {{1}}},
                      GemmCase{{3, 4}, {4, 5}, {{1, 5}}, 1, .25},
                      GemmCase{{3, 4}, {4, 5}, {{3, 1}}, .5, 3},
                      GemmCase{{30, 400}, {400, 50}, {{30, 50}}, .5, 3},
                      GemmCase{{40, 30}, {40, 50}, {{50}}, 1, 1, true, false},
                      GemmCase{{30, 40}, {50, 40}, {{50}}, 1, 1, false, true},
                      GemmCase{{400, 300}, {70, 400}, {{300, 1}}, .5, 2, true, true},
                      GemmCase{{0, 4}, {4, 5}, {{5}}}, GemmCase{{3, 0}, {0, 5}, {{5}}, 1, 2},
                      GemmCase{{1, 40}, {40, 1}, {{1, 1}}, 1, 2}));

TEST(GemmReferenceTest, IntegersAreExactAndCIsRequiredBeforeVersion11) {
  const int64_t big = (int64_t{1} << 53) + 1;
  OpTester op("Gemm", 11);
  op.Input(Make<int64_t>({1, 1}, {big})).Input(Make<int64_t>({1, 1}, {1}));
  ExpectClose(op.Reference().value()[0], Make<int64_t>({1, 1}, {big}), 0);
  OpTester old("Gemm", 9);
  old.Input(Make<float>({1, 1}, {1})).Input(Make<float>({1, 1}, {1}));
  EXPECT_EQ(old.Reference().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GemmReferenceTest, ErrorsSayWhatIsWrong) {
  const auto message = [](const Dims& a, const Dims& b, const Dims& c) {
    const auto zeros = [](const Dims& dims) {
      return FromDoubles(DataType::kFloat, dims, std::vector<double>(NumElements(dims).value()))
          .value();
    };
    OpTester op("Gemm", 13);
    op.Input(zeros(a)).Input(zeros(b)).Input(zeros(c));
    EXPECT_EQ(op.Kernel().status().code(), absl::StatusCode::kFailedPrecondition);
    return std::string(op.Reference().status().message());
  };
  EXPECT_EQ(
      message({2, 3}, {4, 2}, {2}),
      "A[2,3] and B[4,2] cannot be multiplied: K is 3 in A (transA 0), but 4 in B (transB 0)");
  EXPECT_EQ(message({1, 2, 3}, {3, 2}, {2}),
            "expected matrices, but A is float[1,2,3] and B is float[3,2]");
  EXPECT_EQ(message({2, 3}, {3, 2}, {3}), "C[3] does not broadcast to [2,2]");
  EXPECT_EQ(message({1, 3}, {3, 2}, {2, 2}), "C[2,2] does not broadcast to [1,2]");
}

TEST(MatMulIntegerTest, HandlesZeroPointsPerTensorRowAndColumn) {
  const Tensor a = Make<uint8_t>({2, 2}, {255, 1, 2, 3});
  const Tensor b = Make<int8_t>({2, 2}, {-128, 1, 2, 127});
  OpTester plain("MatMulInteger", 10);
  plain.Input(a).Input(b);
  ExpectClose(plain.Reference().value()[0], Make<int32_t>({2, 2}, {-32638, 382, -250, 383}), 0);
  OpTester zeros("MatMulInteger", 10);
  zeros.Input(a).Input(b).Input(Make<uint8_t>({2}, {1, 2})).Input(Make<int8_t>({2}, {-128, 127}));
  // [[254, 0], [0, 1]] x [[0, -126], [130, 0]]
  ExpectClose(zeros.Reference().value()[0], Make<int32_t>({2, 2}, {0, -32004, 130, 0}), 0);
  OpTester wrong("MatMulInteger", 10);
  wrong.Input(a).Input(b).Input(Make<uint8_t>({3}, {1, 2, 3}));
  EXPECT_EQ(wrong.Reference().status().message(),
            "expected one zero point per tensor or per row of an operand of shape [2,2], but found "
            "shape [3]");
  OpTester types("MatMulInteger", 10);
  types.Input(a).Input(b).Input(Make<int8_t>({}, {1}));
  EXPECT_THAT(std::string(types.Reference().status().message()),
              ::testing::HasSubstr("input 0 is uint8[2,2] with zero point int8[]"));
}

}  // namespace
}  // namespace attnrun::testing
