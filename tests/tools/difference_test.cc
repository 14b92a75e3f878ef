// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "core/elements.h"

namespace attnrun::cli {
namespace {

using ::testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor Make(DataType type, const std::vector<double>& values) {
  return FromDoubles(type, {static_cast<int64_t>(values.size())}, values).value();
}

TEST(DifferenceTest, DifferencesWithinTheToleranceAreAccepted) {
  const struct {
    DataType type;
    std::vector<double> expected;
    std::vector<double> found;
    Tolerance tolerance;
    bool ok;
  } cases[] = {
      // The default tolerance: relative to the largest magnitude, but to at least 1.
      {DataType::kFloat, {100, 0}, {100, 0.009}, {}, true},
      {DataType::kFloat, {100, 0}, {100, 0.011}, {}, false},
      {DataType::kDouble, {0.001}, {0.00109}, {}, true},
      {DataType::kDouble, {0.001}, {0.00111}, {}, false},
      {DataType::kFloat16, {1}, {1.0009765625}, {}, true},
      {DataType::kFloat16, {1}, {1.0029296875}, {}, false},
      {DataType::kFloat, {1}, {1.0019}, {.computed_from = DataType::kFloat16}, true},
      {DataType::kFloat, {1}, {1.0021}, {.computed_from = DataType::kFloat16}, false},
      {DataType::kFloat, {1}, {1.01}, {.computed_from = DataType::kBfloat16}, true},
      {DataType::kFloat, {1}, {1.0019}, {.atol = 1e-4, .computed_from = DataType::kFloat16}, false},
      {DataType::kInt64, {1}, {2}, {.computed_from = DataType::kBfloat16}, false},
      {DataType::kInt64, {30000, 7}, {30000, 8}, {}, false},
      {DataType::kInt64, {30000, 7}, {30000, 8}, {.atol = 1}, true},
      {DataType::kBool, {1}, {0}, {}, false},
      {DataType::kDouble, {10, 1}, {10.9, 1.05}, {.rtol = 0.1}, true},
      {DataType::kDouble, {10, 1}, {10.9, 1.2}, {.rtol = 0.1}, false},
      {DataType::kDouble, {10, 1}, {10.9, 1.2}, {.rtol = 0.1, .atol = 0.2}, true},
      // NaN and infinities must match exactly.
      {DataType::kFloat, {NAN, kInf, -kInf}, {NAN, kInf, -kInf}, {}, true},
      {DataType::kFloat, {NAN}, {0}, {.atol = 1e9}, false},
      {DataType::kFloat, {0}, {NAN}, {.atol = 1e9}, false},
      {DataType::kFloat, {kInf}, {-kInf}, {.atol = 1e9}, false},
      {DataType::kFloat, {kInf}, {3e38}, {.rtol = 1}, false},
      // An expected infinity does not loosen the tolerance of the other elements.
      {DataType::kFloat, {kInf, 1}, {kInf, 2}, {}, false},
      {DataType::kFloat, {}, {}, {}, true},
  };
  for (const auto& [type, expected, found, tolerance, ok] : cases) {
    const Difference difference =
        Compare(Make(type, expected), Make(type, found), tolerance).value();
    EXPECT_EQ(difference.ok, ok) << ::testing::PrintToString(expected) << " "
                                 << ::testing::PrintToString(found) << ": "
                                 << cli::Describe(difference);
  }
}

TEST(DifferenceTest, NamesTheWorstElement) {
  const Tensor expected = Tensor::Of<float>({2, 2}, {1, 2, 3, 4}).value();
  const Tensor found = Tensor::Of<float>({2, 2}, {1, 2.5, 3, 4.25}).value();
  const Difference difference = Compare(expected, found, {.atol = 0.1}).value();
  EXPECT_EQ(difference.largest, 0.5);
  EXPECT_THAT(difference.index, ElementsAre(0, 1));
  EXPECT_EQ(cli::Describe(difference),
            "largest difference 0.5, allowed 0.1; 2 of 4 elements exceed it, the worst at "
            "[0,1]: expected 2, but found 2.5");
}

TEST(DifferenceTest, LargeIntegersAreComparedExactly) {
  const int64_t large = int64_t{1} << 62;
  const Tensor expected = Tensor::Of<int64_t>({2}, {large, INT64_MIN}).value();
  EXPECT_TRUE(Compare(expected, expected, {})->ok);
  const Tensor near = Tensor::Of<int64_t>({2}, {large + 1, INT64_MIN}).value();
  EXPECT_EQ(Compare(expected, near, {})->largest, 1);
  const Tensor far = Tensor::Of<int64_t>({2}, {large, INT64_MAX}).value();
  EXPECT_EQ(Compare(expected, far, {})->largest, std::ldexp(1.0, 64));
}

TEST(DifferenceTest, StridedComplexAndStrings) {
  const Tensor matrix = Tensor::Of<float>({2, 2}, {1, 2, 3, 4}).value();
  const Tensor transposed = Tensor::Of<float>({2, 2}, {1, 3, 2, 4}).value();
  EXPECT_TRUE(Compare(transposed, matrix.View({2, 2}, {1, 2}, 0), {})->ok);
  const Tensor a = FromComplex(DataType::kComplex64, {2}, {{1, 2}, {3, 4}}).value();
  const Tensor b = FromComplex(DataType::kComplex64, {2}, {{1, 2}, {3, -4}}).value();
  const Difference complex = Compare(a, b, {}).value();
  EXPECT_THAT(complex.index, ElementsAre(1));
  EXPECT_EQ(complex.expected + " " + complex.found, "3+4j 3-4j");
  const Tensor x = Tensor::Of<std::string>({2}, std::vector<std::string>{"a", "b"}).value();
  const Tensor y = Tensor::Of<std::string>({2}, std::vector<std::string>{"a", "c"}).value();
  EXPECT_TRUE(Compare(x, x, {})->ok);
  EXPECT_EQ(Compare(x, y, {})->found, "'c'");
}

TEST(DifferenceTest, OtherTypesAndShapesAreNotCompared) {
  const Difference difference =
      Compare(Make(DataType::kFloat, {1, 2}), Make(DataType::kDouble, {1}), {}).value();
  EXPECT_FALSE(difference.ok);
  EXPECT_EQ(cli::Describe(difference), "expected float[2], but found double[1]");
}

// Large tensors are compared piece by piece.
TEST(DifferenceTest, TheWorstElementOfALargeTensorIsFound) {
  constexpr int64_t kElements = (3 << 20) + 5;
  constexpr int64_t kPlace = (2 << 20) + 3;
  for (const DataType type : {DataType::kFloat, DataType::kInt32, DataType::kUint4}) {
    std::vector<double> values(kElements, 1);
    values[kElements - 1] = 15;
    const Tensor expected = Make(type, values);
    values[7] = 3;
    values[kPlace] = 5;
    const Difference difference = Compare(expected, Make(type, values), {.atol = 1}).value();
    EXPECT_EQ(difference.beyond, 2) << Name(type);
    EXPECT_EQ(difference.largest, 4) << Name(type);
    EXPECT_THAT(difference.index, ElementsAre(kPlace)) << Name(type);
    EXPECT_EQ(difference.expected, "1") << Name(type);
    EXPECT_EQ(difference.found, "5") << Name(type);
  }
}

TEST(DifferenceTest, TheToleranceUsesTheLargestElementOfALargeTensor) {
  std::vector<double> values(3 << 20, 1);
  values.back() = 1000;
  const Tensor expected = Make(DataType::kFloat, values);
  values[0] = 1.09;
  EXPECT_TRUE(Compare(expected, Make(DataType::kFloat, values), {}).value().ok);
  values[0] = 1.11;
  EXPECT_FALSE(Compare(expected, Make(DataType::kFloat, values), {}).value().ok);
}

TEST(DifferenceTest, ComplexNumbersOfALargeTensorAreCompared) {
  std::vector<std::complex<float>> values(2 << 20);
  const Tensor expected = Tensor::Of<std::complex<float>>({2 << 20}, values).value();
  values[(1 << 20) + 9] = {0, 1};
  const Tensor found = Tensor::Of<std::complex<float>>({2 << 20}, values).value();
  EXPECT_THAT(Compare(expected, found, {}).value().index, ElementsAre((1 << 20) + 9));
}

}  // namespace
}  // namespace attnrun::cli
