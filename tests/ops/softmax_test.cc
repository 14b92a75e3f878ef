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
  for (const int64_t length : {1, 7, 8, 16, 33, 1000}) {
    OpTester op("Softmax", 13);
    op.Input(RandomFloats({3, 5, length}, generator, 10));
    // exp is within 1.5 units in the last place, the sum of n terms within n roundings of its own.
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 8 * kEpsilon);
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

TEST(SoftmaxTest, ErrorsSayWhatIsWrong) {
  OpTester bad_axis("Softmax", 13);
  bad_axis.Attribute("axis", int64_t{2}).Input(Make<float>({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(bad_axis.Reference().status().message(), "axis 2 is outside [-2,1] for rank 2");
  OpTester unknown("Softmax", 13);
  unknown.Attribute("axes", int64_t{1}).Input(Make<float>({1}, {1}));
  EXPECT_EQ(unknown.Reference().status().message(), "attribute 'axes' is unknown to version 13");
}

}  // namespace
}  // namespace attnrun::testing
