// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(SoftmaxTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  struct {
    std::vector<int64_t> shape;
    int64_t axis;
    int opset = 13;
    DataType type = DataType::kFloat;
  } cases[] = {
      {{3, 5, 1}, -1},
      {{3, 5, 7}, -1},
      {{3, 5, 16}, 2},
      {{3, 5, 33}, 2},
      {{2, 1000}, -1},
      {{3, 7, 5}, 1},
      {{2, 3, 40, 3}, -3},
      {{9, 33}, 0},
      {{3, 4, 5}, 1, 11},
      {{3}, 1, 11},
      {{}, -1},
      {{0, 4}, -1},
      {{4, 0}, 0},
      {{3, 70}, -1, 13, DataType::kFloat16},
      {{3, 70}, 0, 13, DataType::kBfloat16},
  };
  for (const auto& c : cases) {
    for (const char* name : {"Softmax", "LogSoftmax"}) {
      const Tensor x = Converted(RandomFloats(c.shape, generator, 10), c.type);
      OpTester op(name, c.opset);
      op.Attribute("axis", c.axis).Input(x);
      SCOPED_TRACE(::testing::Message() << name << " " << TypeAndShape(x) << " axis " << c.axis);
      // exp is within 2 units in the last place and the sum of n terms within about log(n)
      // roundings; a float16 result is rounded once more, perhaps to the other neighbor.
      const double tolerance = c.type == DataType::kFloat ? 16 * kEpsilon : Epsilon(c.type);
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], tolerance);
    }
  }
}

TEST(SoftmaxTest, BeforeVersion13TheSumRunsOverAllAxesFromAxisOn) {
  OpTester op("Softmax", 11);
  op.Input(Make<float>({1, 2, 2}, {0, 0, 0, 0}));
  ExpectClose(op.Reference().value()[0], Make<float>({1, 2, 2}, {.25, .25, .25, .25}), 0);
  ExpectClose(op.Kernel().value()[0], Make<float>({1, 2, 2}, {.25, .25, .25, .25}), 0);
}

TEST(SoftmaxTest, InfinitiesFollowTheFormula) {
  OpTester op("Softmax", 13);
  op.Input(Make<float>({2, 2}, {-kInf, 0, -kInf, -kInf}));
  const Tensor expected = Make<float>({2, 2}, {0, 1, NAN, NAN});
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectClose(op.Kernel().value()[0], expected, 0);
}

TEST(SoftmaxTest, NaNSpreadsOverItsSlice) {
  for (const auto& [name, half] : {std::pair{"Softmax", .5F}, {"LogSoftmax", -0.6931472F}}) {
    for (const int64_t axis : {0, 1}) {
      OpTester op(name, 13);
      op.Attribute("axis", axis).Input(Make<float>({2, 2}, {NAN, 0, 0, 0}));
      const Tensor expected = axis == 0 ? Make<float>({2, 2}, {NAN, half, NAN, half})
                                        : Make<float>({2, 2}, {NAN, NAN, half, half});
      ExpectClose(op.Reference().value()[0], expected, kEpsilon);
      ExpectClose(op.Kernel().value()[0], expected, kEpsilon);
    }
  }
}

TEST(HardmaxTest, TheFirstMaximumCounts) {
  OpTester op("Hardmax", 13);
  op.Attribute("axis", int64_t{0}).Input(Make<float>({3, 2}, {1, 5, 2, 5, 2, 4}));
  ExpectClose(op.Reference().value()[0], Make<float>({3, 2}, {0, 1, 1, 0, 0, 0}), 0);
  OpTester flat("Hardmax", 11);
  flat.Input(Make<float>({1, 2, 2}, {1, 5, 7, 5}));
  ExpectClose(flat.Reference().value()[0], Make<float>({1, 2, 2}, {0, 0, 1, 0}), 0);
}

TEST(SoftmaxTest, ErrorsSayWhatIsWrong) {
  OpTester bad_axis("Softmax", 13);
  bad_axis.Attribute("axis", int64_t{2}).Input(Make<float>({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(bad_axis.Reference().status().message(), "axis 2 is outside [-2,1] for rank 2");
  OpTester unknown("Softmax", 13);
  unknown.Attribute("axes", int64_t{1}).Input(Make<float>({1}, {1}));
  EXPECT_EQ(unknown.Reference().status().message(), "attribute 'axes' is unknown to version 13");
  OpTester integers("Softmax", 13);
  integers.Input(Make<int64_t>({2}, {1, 2}));
  EXPECT_EQ(integers.Kernel().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(integers.Reference().status().message(), "expected floats, but found int64[2]");
}

}  // namespace
}  // namespace attnrun::testing
