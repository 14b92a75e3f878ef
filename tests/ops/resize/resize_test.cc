// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/parallel.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;
using ::testing::HasSubstr;

Tensor Vector(const Floats& values) {
  const auto count = static_cast<int64_t>(values.size());
  return Make<float>({count}, values);
}

Tensor Vector(const Ints& values) {
  const auto count = static_cast<int64_t>(values.size());
  return Make<int64_t>({count}, values);
}

OpTester ByScales(Tensor x, const Floats& scales, int opset = 19) {
  OpTester op("Resize", opset);
  op.Input(std::move(x)).NoInput().Input(Vector(scales));
  return op;
}

OpTester BySizes(Tensor x, const Ints& sizes) {
  OpTester op("Resize", 19);
  op.Input(std::move(x)).NoInput().NoInput().Input(Vector(sizes));
  return op;
}

OpTester Crop(Tensor x, Tensor roi, const Ints& sizes) {
  OpTester op("Resize", 19);
  op.Attribute("coordinate_transformation_mode", std::string("tf_crop_and_resize"));
  op.Attribute("extrapolation_value", 9.0f);
  op.Input(std::move(x)).Input(std::move(roi)).NoInput().Input(Vector(sizes));
  return op;
}

void ExpectVector(const OpTester& op, const Floats& expected) {
  const auto result = op.Reference();
  ASSERT_TRUE(result.ok()) << result.status();
  ExpectClose((*result)[0], Vector(expected), 4 * kEpsilon);
}

// PyTorch and ONNX Runtime copy then; cubic interpolation alone obeys the scale.
TEST(ResizeTest, AScaleThatKeepsTheExtentCopies) {
  const Floats x = {1, 5, -2, 4};
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const int64_t antialias : {0, 1}) {
      OpTester op = ByScales(Make<float>({1, 4}, x), {1, 1.2F});
      op.Attribute("mode", std::string(mode));
      if (std::string(mode) != "nearest") op.Attribute("antialias", antialias);
      const bool obeys = std::string(mode) == "cubic" && antialias == 0;
      const Tensor reference = op.Reference().value()[0];
      const Tensor kernel = op.Kernel().value()[0];
      for (int i = 0; i < 4 && !obeys; ++i) {
        EXPECT_EQ(reference.data<float>()[i], x[i]) << mode << antialias;
        EXPECT_EQ(kernel.data<float>()[i], x[i]) << mode << antialias;
      }
      EXPECT_EQ(reference.data<float>()[2] != x[2], obeys) << mode << antialias;
    }
  }
}

struct Case {
  std::string mode;
  std::string transformation;
  Floats x;
  float scale;
  Floats expected;
};

class ResizeTest : public ::testing::TestWithParam<Case> {};

TEST_P(ResizeTest, GivesValuesComputedByHand) {
  const Case& param = GetParam();
  OpTester op = ByScales(Vector(param.x), {param.scale});
  op.Attribute("mode", param.mode);
  op.Attribute("coordinate_transformation_mode", param.transformation);
  ExpectVector(op, param.expected);
}

INSTANTIATE_TEST_SUITE_P(Modes, ResizeTest,
                         ::testing::Values(
                             // The coordinates are -0.25, 0.25, 0.75 and 1.25.
                             Case{"linear", "half_pixel", {0, 4}, 2, {0, 1, 3, 4}},
                             Case{"linear", "asymmetric", {0, 4}, 2, {0, 2, 4, 4}},
                             Case{"linear", "align_corners", {0, 3}, 2, {0, 1, 2, 3}},
                             // One element: the first, not the middle.
                             Case{"linear", "pytorch_half_pixel", {1, 2, 3, 4}, 0.25f, {1}},
                             Case{"linear", "half_pixel", {1, 2, 3, 4}, 0.25f, {2.5}},
                             // The width 3.2 becomes 3, so the coordinates -0.1875, 0.4375 and
                             // 1.0625 move by 0.0625.
                             Case{"linear", "half_pixel_symmetric", {0, 10}, 1.6f, {0, 5, 10}},
                             Case{"nearest", "asymmetric", {1, 2}, 2, {1, 1, 2, 2}},
                             // With a = -0.75, the weights at distance 0.5 are -0.09375 and
                             // 0.59375.
                             Case{"cubic", "half_pixel", {0, 0, 8, 0}, 0.5f, {-0.75, 4.75}}));

TEST(ResizeNearestTest, RoundsHalvesByNearestMode) {
  const std::vector<std::pair<std::string, Floats>> cases = {{"round_prefer_floor", {1, 1, 2, 2}},
                                                             {"round_prefer_ceil", {1, 2, 2, 2}},
                                                             {"floor", {1, 1, 2, 2}},
                                                             {"ceil", {1, 2, 2, 2}}};
  for (const auto& [mode, expected] : cases) {
    OpTester op = ByScales(Vector(Floats{1, 2}), {2});
    op.Attribute("coordinate_transformation_mode", std::string("asymmetric"));
    op.Attribute("nearest_mode", mode);
    ExpectVector(op, expected);
  }
}

TEST(ResizeNearestTest, MovesAnyType) {
  const std::vector<std::string> x = {"a", "b"};
  OpTester strings = BySizes(Make<std::string>({2}, x), {4});
  ExpectClose(strings.Reference().value()[0], Make<std::string>({4}, {"a", "a", "b", "b"}), 0);
  // The number is larger than double represents exactly.
  const int64_t large = std::numeric_limits<int64_t>::max() - 1;
  OpTester integers = BySizes(Vector(Ints{large, 1}), {3});
  ExpectClose(integers.Reference().value()[0], Vector(Ints{large, large, 1}), 0);
}

TEST(ResizeNearestTest, OldVersionsUseFloorToGrowAndCeilToShrink) {
  OpTester grow("Upsample", 9);
  grow.Input(Vector(Floats{1, 2})).Input(Vector(Floats{3}));
  ExpectVector(grow, {1, 1, 1, 2, 2, 2});
  OpTester attribute("Upsample", 7);
  attribute.Attribute("scales", Floats{2}).Attribute("mode", std::string("linear"));
  attribute.Input(Vector(Floats{0, 4}));
  ExpectVector(attribute, {0, 2, 4, 4});
  OpTester shrink("Resize", 10);
  shrink.Input(Vector(Floats{1, 2, 3, 4})).Input(Vector(Floats{0.6f}));
  ExpectVector(shrink, {1, 3});
}

TEST(ResizeFilterTest, AntialiasAndExcludeOutside) {
  // The weights are 0.25, 0.75, 0.75, 0.25 (divided by 2) around 0.5 and 2.5; the edge repeats
  // outside.
  OpTester linear = ByScales(Vector(Floats{8, 0, 0, 16}), {0.5f});
  linear.Attribute("mode", std::string("linear")).Attribute("antialias", int64_t{1});
  ExpectVector(linear, {4, 8});
  linear.Attribute("exclude_outside", int64_t{1});
  ExpectVector(linear, {8 * 3.0f / 7, 16 * 3.0f / 7});
  // At 0.25 * 2 - 0.5 = 0.5 only the two weights 0.59375 are inside.
  OpTester cubic = ByScales(Vector(Floats{2, 4}), {0.5f});
  cubic.Attribute("mode", std::string("cubic")).Attribute("exclude_outside", int64_t{1});
  ExpectVector(cubic, {3});
}

TEST(ResizeFilterTest, IntegersRoundAndSaturate) {
  OpTester op = ByScales(Make<uint8_t>({4}, {0, 255, 255, 0}), {2});
  op.Attribute("mode", std::string("cubic"));
  const Tensor y = op.Reference().value()[0];
  EXPECT_EQ(y.data<uint8_t>()[0], 0);
  EXPECT_EQ(y.data<uint8_t>()[3], 255);
  OpTester linear = ByScales(Make<int8_t>({2}, {0, 7}), {2});
  linear.Attribute("mode", std::string("linear"));
  ExpectClose(linear.Reference().value()[0], Make<int8_t>({4}, {0, 2, 5, 7}), 0);
}

// Attributes and extents drawn at random.
class RandomResize {
 public:
  explicit RandomResize(std::mt19937& generator) : generator_(generator) {}

  // A node with everything but x, which has `shape`.
  OpTester Draw(const std::string& mode, const Ints& shape, Tensor x) {
    const std::string transformation =
        OneOf({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
               "asymmetric", "tf_crop_and_resize"});
    OpTester op("Resize", 19);
    op.Attribute("mode", mode).Attribute("coordinate_transformation_mode", transformation);
    op.Attribute("nearest_mode",
                 OneOf({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
    op.Attribute("extrapolation_value", 7.0F);
    op.Attribute("antialias", Number(0, 1)).Attribute("exclude_outside", Number(0, 1));
    op.Input(std::move(x));
    Floats roi;
    Floats scales;
    Ints sizes;
    for (const int64_t extent : shape) {
      const int64_t kind = Number(0, 3);
      // Unchanged, a whole multiple, or anything.
      sizes.push_back(kind == 0 ? extent : kind == 1 ? 2 * extent : Number(1, 3 * extent));
      scales.push_back(kind == 0 ? 1 : kind == 1 ? 2 : Number(30, 260) / 100.0F);
      roi.push_back(Number(-2, 4) / 8.0F);
    }
    for (size_t i = 0; i < shape.size(); ++i) roi.push_back(Number(4, 10) / 8.0F);
    if (transformation == "tf_crop_and_resize") {
      op.Input(Vector(roi));
    } else {
      op.NoInput();
    }
    if (Number(0, 1) == 0) {
      op.Input(Vector(scales));
    } else {
      op.Attribute("keep_aspect_ratio_policy", OneOf({"stretch", "not_larger", "not_smaller"}));
      op.NoInput().Input(Vector(sizes));
    }
    return op;
  }

  int64_t Number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator_);
  }

  Ints Shape() {
    Ints shape(Number(1, 4));
    for (int64_t& extent : shape) extent = Number(1, 11);
    if (Number(0, 1) == 0) shape.back() = Number(1, 70);
    return shape;
  }

 private:
  std::string OneOf(const std::vector<std::string>& names) {
    return names[Number(0, static_cast<int64_t>(names.size()) - 1)];
  }

  std::mt19937& generator_;
};

TEST(ResizeKernelTest, WeightedAgreesWithReference) {
  std::mt19937 generator(Seed());
  RandomResize random(generator);
  for (int i = 0; i < 400; ++i) {
    for (const DataType type : {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16}) {
      const Ints shape = random.Shape();
      const Tensor x = Converted(RandomFloats(shape, generator), type);
      const OpTester op = random.Draw(i % 2 == 0 ? "linear" : "cubic", shape, x);
      const auto expected = op.Reference();
      if (!expected.ok()) {
        // A scale may leave an axis without elements.
        EXPECT_FALSE(op.Kernel().ok());
        continue;
      }
      // Per axis: the rounding of each weight and of each of the sum's terms, of which there are
      // at most 4 * 3.4 with antialiasing, each at most twice as large as the largest element.
      ExpectClose(op.Kernel().value()[0], (*expected)[0], Epsilon(type) + 100 * kEpsilon);
    }
  }
}

TEST(ResizeKernelTest, NearestAgreesWithReference) {
  std::mt19937 generator(Seed());
  RandomResize random(generator);
  for (int i = 0; i < 400; ++i) {
    for (const DataType type : {DataType::kFloat, DataType::kFloat16, DataType::kInt64,
                                DataType::kUint8, DataType::kBool}) {
      const Ints shape = random.Shape();
      const Tensor x = RandomInts(type, shape, generator, 0, 1);
      const OpTester op = random.Draw("nearest", shape, x);
      const auto expected = op.Reference();
      if (expected.ok()) {
        ExpectClose(op.Kernel().value()[0], (*expected)[0], 0);
      } else {
        EXPECT_FALSE(op.Kernel().ok());
      }
    }
  }
}

TEST(ResizeKernelTest, BitsDoNotDependOnThreads) {
  std::mt19937 generator(Seed());
  for (const Ints& shape : {Ints{1, 1, 90, 70}, Ints{9, 8, 30, 50}}) {
    OpTester op = ByScales(RandomFloats(shape, generator), {1, 1, 2, 2.5F});
    op.Attribute("mode", std::string("linear"));
    std::vector<Tensor> results;
    for (const int threads : {1, 2, 5}) {
      SetNumThreads(threads);
      results.push_back(op.Kernel().value()[0]);
    }
    SetNumThreads(1);
    ExpectClose(results[1], results[0], 0);
    ExpectClose(results[2], results[0], 0);
  }
}

TEST(ResizeKernelTest, AnInfinityOfWeightZeroDoesNotCount) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Ints& shape : {Ints{1, 4}, Ints{4, 1}, Ints{4, 3}}) {
    std::vector<float> x(NumElements(shape).value(), 1);
    x.back() = infinity;
    // Every other output position is an element of x.
    const Floats scales = shape[0] == 1 ? Floats{1, 2} : Floats{2, 1};
    OpTester op = ByScales(Make<float>(shape, x), scales);
    op.Attribute("mode", std::string("linear"));
    op.Attribute("coordinate_transformation_mode", std::string("asymmetric"));
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 0);
  }
}

TEST(ResizeShapeTest, FollowsAxesAspectRatioAndExtents) {
  const auto shape = [](const OpTester& op) { return op.Reference().value()[0].shape(); };
  const Tensor x = Make<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  OpTester listed = ByScales(x, {2, 0.5f});
  listed.Attribute("axes", Ints{-1, 1});
  EXPECT_EQ(shape(listed), (Shape{1, 1, 8}));
  for (const auto& [policy, expected] : std::vector<std::pair<std::string, Shape>>{
           {"not_larger", {1, 3, 6}}, {"not_smaller", {1, 4, 8}}, {"stretch", {1, 4, 6}}}) {
    OpTester op = BySizes(x, {4, 6});
    op.Attribute("axes", Ints{1, 2}).Attribute("keep_aspect_ratio_policy", policy);
    EXPECT_EQ(shape(op), expected);
  }
  // 0.7f is less than 0.7, but 10 * 0.7f is 7 in single precision.
  EXPECT_EQ(shape(ByScales(Vector(Floats(10, 1.0f)), {0.7f})), (Shape{7}));
  EXPECT_EQ(shape(BySizes(x, {0, 2, 4})), (Shape{0, 2, 4}));
}

TEST(ResizeCropTest, TakesTheRegionAndExtrapolates) {
  for (const char* mode : {"linear", "nearest"}) {
    OpTester op = Crop(Vector(Floats{0, 1, 2, 3, 4}), Vector(Floats{0.5f, 1.25f}), {4});
    op.Attribute("mode", std::string(mode));
    ExpectVector(op, {2, 3, 4, 9});
  }
  ExpectVector(Crop(Vector(Floats{0, 1, 2, 3, 4}), Vector(Floats{0.5f, 1}), {1}), {3});
}

TEST(ResizeErrorsTest, SayWhatIsWrong) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Vector(Floats{1, 2});
  const std::vector<std::pair<OpTester, std::string>> cases = {
      {ByScales(x, {0}), "expected finite scales above 0, but found 0"},
      {ByScales(x, {-1}), "above 0"},
      {ByScales(x, {NAN}), "above 0"},
      {ByScales(x, {inf}), "above 0"},
      {ByScales(x, {3e38f}), "at most 2^53"},
      {ByScales(x, {1, 1}), "expected 1 scales, but found 2"},
      {ByScales(x, {}), "expected 1 scales, but found 0"},
      {BySizes(x, {-1}), "at least 0"},
      {BySizes(x, {1, 2}), "expected 1 sizes, but found 2"},
      {BySizes(x, {std::numeric_limits<int64_t>::max()}), "at most 2^53"},
      {BySizes(Vector(Floats{}), {2}), "cannot resize an axis of 0 elements to 2"},
      {Crop(x, Vector(Floats{0}), {2}), "expected 2 numbers of roi, but found 1"},
      {Crop(x, Vector(Floats{0, NAN}), {2}), "finite roi"},
      {Crop(x, Vector(Ints{0, 1}), {2}), "expected a roi of floats"},
      {Crop(x, Vector(Floats{}), {2}), "needs a roi"},
      {ByScales(x, {1, 1}).Attribute("axes", Ints{0, -1}), "every axis once"},
      {ByScales(x, {1}).Attribute("axes", Ints{1}), "axis"},
      {ByScales(x, {1}).Input(Vector(Ints{2})), "either scales or sizes"},
      {ByScales(x, {1}).Attribute("mode", std::string("quintic")), "must be one of"},
      {OpTester("Upsample", 9).Input(x).Input(Vector(Floats{0.5f})), "of at least 1"},
  };
  for (const auto& [op, message] : cases) {
    EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr(message));
  }
}

TEST(ResizeErrorsTest, HugeResultsAreRefusedAndEmptyOnesAreCheap) {
  const int64_t huge = int64_t{1} << 50;
  for (const char* mode : {"nearest", "linear"}) {
    const auto run = [&](Tensor x, Ints sizes) {
      return BySizes(std::move(x), std::move(sizes))
          .Attribute("mode", std::string(mode))
          .Reference();
    };
    EXPECT_FALSE(run(Vector(Floats{1, 2}), {huge}).ok());
    EXPECT_FALSE(run(Make<float>({1, 1}, {1}), {huge, huge}).ok());
    const auto empty = run(Make<float>({1, 1}, {1}), {huge, 0});
    ASSERT_TRUE(empty.ok()) << empty.status();
    EXPECT_EQ((*empty)[0].shape(), (Shape{huge, 0}));
    // The region is finite, but its coordinates overflow when they are multiplied.
    OpTester crop = Crop(Make<double>({3}, {1, 2, 3}), Make<double>({2}, {-1e308, 1e308}), {3});
    crop.Attribute("mode", std::string(mode));
    ExpectClose(crop.Reference().value()[0], Make<double>({3}, {9, 9, 9}), 0);
  }
}

// If the first axis grew before the last one shrank, the intermediate result would have 2^32
// elements.
TEST(ResizeErrorsTest, IntermediateResultsStaySmall) {
  const int64_t extent = 1 << 16;
  const Tensor x = Make<float>({1, extent}, Floats(extent, 2));
  OpTester op = BySizes(x, {extent, 1});
  op.Attribute("mode", std::string("linear"));
  ExpectClose(op.Reference().value()[0], Make<float>({extent, 1}, Floats(extent, 2)), 0);
}

}  // namespace
}  // namespace attnrun::testing
