// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

OpTester Sample(Tensor x, Tensor grid, const std::string& mode, const std::string& padding,
                bool align_corners = false) {
  OpTester op("GridSample", 22);
  op.Input(std::move(x)).Input(std::move(grid));
  op.Attribute("mode", mode).Attribute("padding_mode", padding);
  op.Attribute("align_corners", int64_t{align_corners});
  return op;
}

// An image of one axis sampled at `places`.
OpTester Row(const Floats& x, const Floats& places, const std::string& mode,
             const std::string& padding, bool align_corners = false) {
  const auto extent = static_cast<int64_t>(x.size());
  const auto count = static_cast<int64_t>(places.size());
  return Sample(Make<float>({1, 1, extent}, x), Make<float>({1, count, 1}, places), mode, padding,
                align_corners);
}

struct Case {
  std::string mode;
  std::string padding;
  bool align_corners;
  Floats places;
  Floats expected;
};

class GridSampleTest : public ::testing::TestWithParam<Case> {};

TEST_P(GridSampleTest, GivesValuesComputedByHand) {
  const Case& param = GetParam();
  const auto count = static_cast<int64_t>(param.expected.size());
  const Tensor expected = Make<float>({1, 1, count}, param.expected);
  const OpTester op =
      Row({1, 2, 4, 8}, param.places, param.mode, param.padding, param.align_corners);
  const auto reference = op.Reference();
  ASSERT_TRUE(reference.ok()) << reference.status();
  ExpectClose((*reference)[0], expected, 4 * kEpsilon);
  ExpectClose(op.Kernel().value()[0], expected, 4 * kEpsilon);
}

// With corners aligned, place p is coordinate 1.5 (p + 1); else 2 (p + 1) - 0.5.
INSTANTIATE_TEST_SUITE_P(
    Modes, GridSampleTest,
    ::testing::Values(Case{"linear", "zeros", true, {-1, -2.0F / 3, 1}, {1, 1.5, 8}},
                      Case{"linear", "zeros", false, {-1, 0, 1, 1.25, 3}, {0.5, 3, 4, 0, 0}},
                      Case{"linear", "border", false, {-1, 1, 3, -9}, {1, 8, 8, 1}},
                      // Coordinates 4.5 and -2.25 are reflected at 3.5 to 2.5, and at -0.5 to 1.25.
                      Case{"linear", "reflection", false, {1.5F, -1.875F}, {6, 2.5F}},
                      // Coordinate 4.5 is reflected at 3 to 1.5, and -7.5 at 0 and 3 to 1.5.
                      Case{"linear", "reflection", true, {2, -6}, {3, 3}},
                      // Halves go to the even neighbor: coordinates 0.5, 1.5 and 2.5.
                      Case{"nearest", "zeros", false, {-0.5F, 0, 0.5F, 1.5F}, {1, 4, 4, 0}},
                      // With a = -0.75 the weights at a distance of 0.5 are -0.09375 and 0.59375.
                      Case{"cubic", "zeros", false, {0}, {-0.09375F * 9 + 0.59375F * 6}},
                      Case{"cubic", "border", false, {-0.5F}, {-0.09375F * 5 + 0.59375F * 3}},
                      Case{"bilinear", "zeros", false, {kNaN, kInf, -kInf}, {0, 0, 0}},
                      Case{"linear", "border", false, {kNaN, kInf, -kInf}, {1, 8, 1}},
                      Case{"bicubic", "reflection", false, {kNaN, kInf, -kInf}, {1, 1, 1}}));

TEST(GridSampleKernelTest, AgreesWithReference) {
  const uint32_t seed = Seed();
  std::mt19937 generator(seed);
  const std::vector<std::pair<Ints, Ints>> shapes = {{{2, 3, 7}, {2, 70, 1}},
                                                     {{2, 5, 4, 6}, {2, 3, 43, 2}},
                                                     {{1, 2, 1, 3}, {1, 5, 1, 2}},
                                                     {{2, 2, 3, 4, 5}, {2, 2, 3, 2, 3}},
                                                     {{3, 1, 1, 1, 2}, {3, 1, 1, 1, 3}}};
  for (const auto& [image, places] : shapes) {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      for (const char* padding : {"zeros", "border", "reflection"}) {
        for (const bool align : {false, true}) {
          SCOPED_TRACE(std::string(mode) + " " + padding + (align ? " aligned" : "") + ", seed " +
                       std::to_string(seed));
          const OpTester op = Sample(RandomFloats(image, generator),
                                     RandomFloats(places, generator, 2), mode, padding, align);
          const auto reference = op.Reference();
          ASSERT_TRUE(reference.ok()) << reference.status();
          // Up to 64 products with weights below 1.6 of numbers below 8, and their rounding.
          ExpectClose(op.Kernel().value()[0], (*reference)[0], 100 * kEpsilon);
        }
      }
    }
  }
}

TEST(GridSampleKernelTest, TakesHalfPrecision) {
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    const Tensor x = Converted(RandomFloats({2, 3, 5, 4}, generator), type);
    const Tensor grid = RandomFloats({2, 2, 9, 2}, generator);
    const OpTester op = Sample(x, grid, "linear", "zeros");
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 2 * Epsilon(type));
  }
}

TEST(GridSampleReferenceTest, MovesAnyType) {
  const Tensor grid = Make<float>({1, 2, 1}, {0.5F, 4});
  const Tensor words = Make<std::string>({1, 1, 2}, {"a", "b"});
  ExpectClose(Sample(words, grid, "nearest", "zeros").Reference().value()[0],
              Make<std::string>({1, 1, 2}, {"b", ""}), 0);
  const Tensor numbers = Make<int64_t>({1, 1, 2}, {1, 9});
  ExpectClose(Sample(numbers, grid, "linear", "border").Reference().value()[0],
              Make<int64_t>({1, 1, 2}, {9, 9}), 0);
}

TEST(GridSampleReferenceTest, ErrorsSayWhatIsWrong) {
  const auto error = [](Tensor x, Tensor grid) {
    return std::string(
        Sample(std::move(x), std::move(grid), "linear", "zeros").Reference().status().message());
  };
  const Tensor x = Make<float>({1, 1, 2}, {1, 2});
  EXPECT_THAT(error(x, Make<float>({1, 1, 2}, {1, 2})), HasSubstr("expected x [N,C,D1,..,Dr]"));
  EXPECT_THAT(error(x, Make<float>({2, 1, 1}, {1, 2})), HasSubstr("found float[1,1,2] and float"));
  EXPECT_THAT(error(x, Make<int64_t>({1, 1, 1}, {1})), HasSubstr("grid of floats"));
  EXPECT_THAT(error(Make<float>({1, 1, 0}, {}), Make<float>({1, 1, 1}, {0})),
              HasSubstr("images with elements"));
  EXPECT_THAT(
      error(Make<float>({1, 1, 1, 1, 1, 1}, {1}), Make<float>({1, 1, 1, 1, 1, 4}, {1, 1, 1, 1})),
      HasSubstr("at most 3 axes"));
}

}  // namespace
}  // namespace attnrun::testing
