// SPDX-License-Identifier: Apache-2.0
// The operators on images that have reference code only, against values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using ::testing::HasSubstr;

Tensor Vector(const Ints& values) {
  const auto count = static_cast<int64_t>(values.size());
  return Make<int64_t>({count}, values);
}

void ExpectResult(const OpTester& op, const Tensor& expected) {
  const auto result = op.Reference();
  ASSERT_TRUE(result.ok()) << result.status();
  ExpectClose((*result)[0], expected, 4 * kEpsilon);
}

std::string ErrorOf(const OpTester& op) { return std::string(op.Reference().status().message()); }

OpTester Align(Tensor rois, int64_t samples, const std::string& mode = "avg") {
  OpTester op("RoiAlign", 22);
  op.Input(Make<float>({1, 1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})).Input(std::move(rois));
  op.Input(Vector({0})).Attribute("sampling_ratio", samples).Attribute("mode", mode);
  return op;
}

TEST(RoiAlignTest, AveragesInterpolatedSamples) {
  // Half a pixel to the left and up, the region is [0, 2] x [0, 1]: its middle is (1, 0.5).
  const Tensor rois = Make<float>({1, 4}, {0.5F, 0.5F, 2.5F, 1.5F});
  ExpectResult(Align(rois, 1), Make<float>({1, 1, 1, 1}, {3}));
  OpTester wide = Align(rois, 1);
  ExpectResult(wide.Attribute("output_width", int64_t{2}), Make<float>({1, 1, 1, 2}, {2.5F, 3.5F}));
  // The greatest of the four weighted neighbors: 0.5 x 5.
  ExpectResult(Align(rois, 1, "max"), Make<float>({1, 1, 1, 1}, {2.5F}));
  // As many samples as the bin has elements: 2 along x, 1 along y.
  ExpectResult(Align(rois, 0), Make<float>({1, 1, 1, 1}, {3}));
}

TEST(RoiAlignTest, RefusesWhatCannotBeSampled) {
  EXPECT_THAT(ErrorOf(Align(Make<float>({1, 4}, {0, 0, 1e30F, 1}), 0)),
              HasSubstr("at most 4096 samples along each axis, but found"));
  EXPECT_THAT(ErrorOf(Align(Make<float>({4}, {0, 0, 1, 1}), 0)), HasSubstr("rois of floats [R,4]"));
  // Found by the fuzzer of operators: a bin of no size has no samples, however far its end is.
  EXPECT_EQ(ErrorOf(Align(Make<float>({1, 4}, {0, 0, -INFINITY, 1}), 0)), "");
  OpTester other("RoiAlign", 22);
  other.Input(Make<float>({1, 1, 1, 1}, {0})).Input(Make<float>({1, 4}, {0, 0, 1, 1}));
  EXPECT_THAT(ErrorOf(other.Input(Vector({1}))), HasSubstr("index 1 is outside"));
}

TEST(MaxRoiPoolTest, TakesTheGreatestElementOfEachBin) {
  OpTester op("MaxRoiPool", 22);
  op.Input(Make<float>({1, 1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}));
  op.Input(Make<float>({2, 5}, {0, 0, 0, 4, 2, 0, 9, 9, 9, 9}));
  op.Attribute("pooled_shape", Ints{1, 2}).Attribute("spatial_scale", 0.5F);
  // Columns 0 to 2 and rows 0 and 1, in bins of 1.5 columns; the second region is outside.
  ExpectResult(op, Make<float>({2, 1, 1, 2}, {5, 6, 0, 0}));
  OpTester wrong("MaxRoiPool", 22);
  wrong.Input(Make<float>({1, 1, 1, 1}, {0})).Input(Make<float>({1, 5}, {1, 0, 0, 1, 1}));
  EXPECT_THAT(ErrorOf(wrong.Attribute("pooled_shape", Ints{1, 1})), HasSubstr("one of image 1"));
}

TEST(AffineGridTest, MapsTheCentersOfElements) {
  const Tensor theta = Make<float>({1, 2, 3}, {2, 0, 1, 0, 1, 0});
  OpTester op("AffineGrid", 20);
  op.Input(theta).Input(Vector({1, 1, 1, 2}));
  ExpectResult(op, Make<float>({1, 1, 2, 2}, {0, 0, 2, 0}));
  op.Attribute("align_corners", int64_t{1});
  ExpectResult(op, Make<float>({1, 1, 2, 2}, {-1, -1, 3, -1}));
  OpTester wrong("AffineGrid", 20);
  wrong.Input(theta).Input(Vector({2, 1, 1, 2}));
  EXPECT_THAT(ErrorOf(wrong), HasSubstr("found float[1,2,3] and the size [2,1,1,2]"));
}

OpTester Unpool(const Ints& indices) {
  OpTester op("MaxUnpool", 22);
  op.Attribute("kernel_shape", Ints{2}).Attribute("strides", Ints{2});
  op.Input(Make<float>({1, 1, 2}, {5, 6})).Input(Make<int64_t>({1, 1, 2}, indices));
  return op;
}

TEST(MaxUnpoolTest, PutsElementsWhereTheyWere) {
  ExpectResult(Unpool({1, 2}), Make<float>({1, 1, 4}, {0, 5, 6, 0}));
  ExpectResult(Unpool({1, 2}).Input(Vector({1, 1, 5})), Make<float>({1, 1, 5}, {0, 5, 6, 0, 0}));
  EXPECT_THAT(ErrorOf(Unpool({1, 4})), HasSubstr("index 4 is outside the 4 elements of [1,1,4]"));
  EXPECT_THAT(ErrorOf(Unpool({1, 2}).Input(Vector({1, 1, 3}))),
              HasSubstr("at least [1,1,4], but found [1,1,3]"));
}

// Each tap reads half an element to the right, where the image is 1.5 and 1, and counts twice.
TEST(DeformConvTest, ReadsBesideThePlacesOfTaps) {
  OpTester op("DeformConv", 22);
  op.Input(Make<float>({1, 1, 1, 2}, {1, 2})).Input(Make<float>({1, 1, 1, 1}, {10}));
  op.Input(Make<float>({1, 2, 1, 2}, {0, 0, 0.5F, 0.5F})).Input(Make<float>({1}, {3}));
  op.Input(Make<float>({1, 1, 1, 2}, {2, 2}));
  ExpectResult(op, Make<float>({1, 1, 1, 2}, {33, 23}));
  OpTester wrong("DeformConv", 22);
  wrong.Input(Make<float>({1, 1, 1, 2}, {1, 2})).Input(Make<float>({1, 1, 1, 1}, {10}));
  wrong.Input(Make<float>({1, 2, 1, 1}, {0, 0}));
  EXPECT_THAT(ErrorOf(wrong), HasSubstr("expected offset of shape [1,2,1,2]"));
}

OpTester Center(const Ints& shape, Ints axes) {
  OpTester op("CenterCropPad", 18);
  op.Input(Make<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})).Input(Vector(shape));
  op.Attribute("axes", std::move(axes));
  return op;
}

TEST(CenterCropPadTest, KeepsTheMiddle) {
  ExpectResult(Center({1}, {-1}), Make<float>({2, 1}, {2, 6}));
  ExpectResult(Center({3, 1}, {1, 0}), Make<float>({1, 3}, {1, 2, 3}));
  ExpectResult(Center({5}, {0}),
               Make<float>({5, 4}, {0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_THAT(ErrorOf(Center({5}, {0, 1})), HasSubstr("a shape of 2 extents, but found [5]"));
  EXPECT_FALSE(Center({-1}, {0}).Reference().ok());
}

TEST(DetTest, IsTheVolumeOfTheRows) {
  OpTester op("Det", 22);
  op.Input(Make<float>({2, 2, 2}, {0, 2, 3, 4, 1, 2, 2, 4}));
  ExpectResult(op, Make<float>({2}, {-6, 0}));
  OpTester empty("Det", 22);
  ExpectResult(empty.Input(Make<float>({0, 0}, {})), Make<float>({}, {1}));
  OpTester wrong("Det", 22);
  EXPECT_THAT(ErrorOf(wrong.Input(Make<float>({1, 2}, {1, 2}))), HasSubstr("matrices [..,M,M]"));
}

}  // namespace
}  // namespace attnrun::testing
