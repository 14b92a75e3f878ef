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

struct Case {
  const char* op;
  int opset;
  std::vector<int64_t> shape;
  int64_t axis;
  bool bias;
  DataType type = DataType::kFloat;
};

std::vector<int64_t> From(const std::vector<int64_t>& shape, int64_t axis) {
  return {shape.begin() + (axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis),
          shape.end()};
}

TEST(LayerNormalizationTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const Case cases[] = {
      {"LayerNormalization", 17, {3, 5, 1}, -1, true},
      {"LayerNormalization", 17, {3, 5, 7}, -1, false},
      {"LayerNormalization", 17, {2, 3, 768}, 2, true},
      {"LayerNormalization", 17, {2, 3, 67}, 1, true},
      {"LayerNormalization", 17, {129}, 0, true},
      {"LayerNormalization", 17, {2, 100}, -1, true, DataType::kFloat16},
      {"LayerNormalization", 17, {2, 100}, -1, true, DataType::kBfloat16},
      {"LayerNormalization", 11, {2, 40}, -1, true},
      {"RMSNormalization", 23, {2, 3, 1000}, -1, false},
      {"RMSNormalization", 23, {4, 3, 5}, 0, false},
      {"RMSNormalization", 23, {5, 33}, -1, false, DataType::kFloat16},
      {"SimplifiedLayerNormalization", 14, {5, 33}, -1, false},
  };
  for (const Case& c : cases) {
    for (const float offset : {0.0F, 1e4F}) {
      Tensor x = RandomFloats(c.shape, generator, 3);
      for (int64_t i = 0; i < x.num_elements(); ++i) x.mutable_data<float>()[i] += offset;
      OpTester op(c.op, c.opset);
      op.Attribute("axis", c.axis).Input(Converted(x, c.type));
      op.Constant(Converted(RandomFloats(From(c.shape, c.axis), generator), c.type));
      if (c.bias) op.Constant(Converted(RandomFloats(From(c.shape, c.axis), generator), c.type));
      SCOPED_TRACE(::testing::Message() << c.op << TypeAndShape(x) << " offset " << offset);
      // Ten roundings of a product of two numbers of up to five standard deviations; in half
      // precision one rounding, perhaps to the other neighbor.
      const double tolerance = c.type == DataType::kFloat ? 250 * kEpsilon : Epsilon(c.type);
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], tolerance);
    }
  }
}

// The exact result is 0/0, although the rounded mean of many thirds is not exactly a third.
TEST(LayerNormalizationTest, RowsOfEqualElementsGiveNaNWithoutAnEpsilon) {
  OpTester op("LayerNormalization", 17);
  op.Attribute("epsilon", 0.0F);
  op.Input(Make<float>({1, 100}, std::vector<float>(100, 1.0F / 3)));
  op.Constant(Make<float>({100}, std::vector<float>(100, 1)));
  for (const Tensor& y : {op.Kernel().value()[0], op.Reference().value()[0]}) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(std::isnan(y.data<float>()[i])) << i;
  }
}

// The variance is beyond the largest float, and so is the square of the rounding error of the mean.
TEST(LayerNormalizationTest, ARowOfHugeElementsGivesNoNaN) {
  OpTester op("LayerNormalization", 17);
  std::vector<float> row(100, 1);
  row[3] = 1e30F;
  op.Input(Make<float>({1, 100}, row)).Constant(Make<float>({100}, std::vector<float>(100, 1)));
  const Tensor y = op.Kernel().value()[0];
  for (int i = 0; i < 100; ++i) EXPECT_EQ(y.data<float>()[i], 0) << i;
}

TEST(LayerNormalizationTest, FollowsTheFormula) {
  OpTester layer("LayerNormalization", 17);
  layer.Attribute("epsilon", 0.75F).Outputs(3);
  layer.Input(Make<float>({2, 2}, {1, 2, 5, 5})).Input(Make<float>({2}, {2, 4}));
  layer.Input(Make<float>({1, 2}, {10, 20}));
  OpTester rms("RMSNormalization", 23);
  rms.Attribute("epsilon", 0.0F).Input(Make<float>({1, 2}, {6, 8})).Input(Make<float>({}, {5}));
  for (const bool kernel : {false, true}) {
    const auto y = (kernel ? layer.Kernel() : layer.Reference()).value();
    ExpectClose(y[0], Make<float>({2, 2}, {9, 22, 10, 20}), 2 * kEpsilon);
    ExpectClose(y[1], Make<float>({2, 1}, {1.5, 5}), 0);
    ExpectClose(y[2], Make<float>({2, 1}, {1, 1.1547005F}), kEpsilon);
  }
  // A scale that is not one row has no kernel.
  ExpectClose(rms.Reference().value()[0], Make<float>({1, 2}, {4.2426407F, 5.6568542F}), kEpsilon);
  EXPECT_FALSE(rms.Kernel().ok());
}

TEST(LayerNormalizationTest, ScaleThatVariesOverRowsRunsOnTheReference) {
  OpTester op("LayerNormalization", 17);
  op.Attribute("epsilon", 0.0F).Input(Make<float>({2, 2}, {1, 3, 1, 3}));
  op.Input(Make<float>({2, 1}, {1, 10}));
  EXPECT_FALSE(op.Kernel().ok());
  ExpectClose(op.Reference().value()[0], Make<float>({2, 2}, {-1, 1, -10, 10}), 0);
}

// Found by the fuzzer of operators: the result has the scale's type, of which two elements share a
// byte here.
TEST(LayerNormalizationTest, ScaleOfAPackedTypeRunsOnTheReference) {
  for (const char* name : {"SimplifiedLayerNormalization", "RMSNormalization"}) {
    OpTester op(name, name[0] == 'S' ? 20 : 23);
    op.Attribute("epsilon", 0.0F).Input(Make<float>({1, 2}, {3, -3}));
    op.Input(Converted(Make<float>({2}, {2, 3}), DataType::kFloat4E2M1));
    EXPECT_FALSE(op.Kernel().ok()) << name;
  }
}

TEST(LayerNormalizationTest, BitsDoNotDependOnThreadsOrOtherRows) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({64, 1000}, generator);
  const Tensor scale = RandomFloats({1000}, generator);
  auto run = [&](const Tensor& rows, int threads) {
    const int before = NumThreads();
    SetNumThreads(threads);
    OpTester op("LayerNormalization", 17);
    Tensor y = op.Input(rows).Input(scale).Kernel().value()[0];
    SetNumThreads(before);
    return y;
  };
  const Tensor all = run(x, 1);
  ExpectClose(run(x, 3), all, 0);
  const Tensor last = x.View({1, 1000}, {1000, 1}, 63000).Dense().value();
  ExpectClose(run(last, 1), all.View({1, 1000}, {1000, 1}, 63000).Dense().value(), 0);
}

TEST(LayerNormalizationTest, ErrorsSayWhatIsWrong) {
  const Tensor row = Make<float>({4}, {1, 1, 1, 1});
  const Tensor x = Make<float>({1, 4}, {1, 2, 3, 4});
  struct {
    Tensor x, scale;
    int64_t axis;
    int64_t stash;
    const char* message;
  } cases[] = {
      {x, row, 2, 1, "axis 2 is outside [-2,1]"},
      {x, Make<float>({3}, {1, 1, 1}), 1, 1, "shape [3] does not broadcast to [1,4]"},
      {x, Make<float>({1, 1, 4}, {1, 1, 1, 1}), 1, 1, "shape [1,1,4] does not broadcast"},
      {x, Make<int64_t>({4}, {1, 1, 1, 1}), 1, 1, "expected input 1 to be floats"},
      {Make<int64_t>({1, 4}, {1, 2, 3, 4}), row, 1, 1, "expected floats to normalize"},
      {x, row, 1, 7, "expected stash_type to be a float type, but it is int64"},
      {x, row, 1, 99, "'stash_type'"},
      {Make<float>({}, {1}), row, -1, 1, "axis -1 is outside"},
      {Make<float>({3, 0}, {}), Make<float>({0}, {}), -1, 1, "nothing to normalize over"},
  };
  for (const auto& c : cases) {
    OpTester op("LayerNormalization", 17);
    op.Attribute("axis", c.axis).Attribute("stash_type", c.stash).Input(c.x).Input(c.scale);
    EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr(c.message));
    EXPECT_FALSE(op.Kernel().ok());
  }
}

TEST(LayerNormalizationTest, NoRowsGiveNoRows) {
  OpTester op("LayerNormalization", 17);
  op.Input(Make<float>({0, 4}, {})).Input(Make<float>({4}, {1, 1, 1, 1})).Outputs(2);
  for (const auto& y : {op.Reference().value(), op.Kernel().value()}) {
    EXPECT_EQ(TypeAndShape(y[0]), "float[0,4]");
    EXPECT_EQ(TypeAndShape(y[1]), "float[0,1]");
  }
}

}  // namespace
}  // namespace attnrun::testing
