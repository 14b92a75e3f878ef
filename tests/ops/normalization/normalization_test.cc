// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

struct GroupCase {
  const char* op;
  int opset;
  std::vector<int64_t> shape;
  int64_t groups;
  int64_t parameters;
  DataType type = DataType::kFloat;
};

TEST(GroupNormalizationTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const GroupCase cases[] = {
      {"InstanceNormalization", 7, {2, 3, 5, 7}, 0, 3},
      {"InstanceNormalization", 22, {2, 3, 400}, 0, 3, DataType::kFloat16},
      {"InstanceNormalization", 22, {2, 3}, 0, 3},
      {"GroupNormalization", 18, {2, 6, 9}, 3, 3},
      {"GroupNormalization", 21, {2, 6, 9}, 3, 6},
      {"GroupNormalization", 21, {1, 4, 3, 3, 2}, 1, 4, DataType::kBfloat16},
  };
  for (const GroupCase& c : cases) {
    OpTester op(c.op, c.opset);
    if (c.groups > 0) op.Attribute("num_groups", c.groups);
    op.Input(Converted(RandomFloats(c.shape, generator, 3), c.type));
    op.Constant(Converted(RandomFloats({c.parameters}, generator), c.type));
    op.Constant(Converted(RandomFloats({c.parameters}, generator), c.type));
    SCOPED_TRACE(::testing::Message() << c.op << c.opset << " of " << c.shape.size() << " axes");
    // As for LayerNormalization.
    const double tolerance = c.type == DataType::kFloat ? 250 * kEpsilon : Epsilon(c.type);
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], tolerance);
  }
}

TEST(GroupNormalizationTest, ScaleIsPerGroupBeforeVersion21AndPerChannelSince) {
  OpTester op18("GroupNormalization", 18);
  OpTester op21("GroupNormalization", 21);
  for (OpTester* op : {&op18, &op21}) {
    op->Attribute("num_groups", int64_t{1}).Attribute("epsilon", 0.0F);
    op->Input(Make<float>({1, 2, 1}, {1, 3}));
  }
  op18.Input(Make<float>({1}, {10})).Input(Make<float>({1}, {1}));
  op21.Input(Make<float>({2}, {10, 100})).Input(Make<float>({2}, {1, 2}));
  ExpectClose(op18.Reference().value()[0], Make<float>({1, 2, 1}, {-9, 11}), 0);
  ExpectClose(op21.Reference().value()[0], Make<float>({1, 2, 1}, {-9, 102}), 0);
}

TEST(GroupNormalizationTest, ErrorsSayWhatIsWrong) {
  const Tensor x = Make<float>({1, 4, 1}, {1, 2, 3, 4});
  const Tensor four = Make<float>({4}, {1, 1, 1, 1});
  struct {
    Tensor x, scale;
    int64_t groups;
    const char* message;
  } cases[] = {
      {x, four, 3, "num_groups 3 does not divide the 4 channels"},
      {x, four, 0, "num_groups 0 does not divide"},
      {x, four, -2, "num_groups -2 does not divide"},
      {x, Make<float>({2}, {1, 1}), 2, "expected input 1 to be float[4], but it is float[2]"},
      {four, four, 2, "expected floats of shape [batch,channels,...]"},
  };
  for (const auto& c : cases) {
    OpTester op("GroupNormalization", 21);
    op.Attribute("num_groups", c.groups).Input(c.x).Input(c.scale).Input(four);
    EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr(c.message));
    EXPECT_THAT(std::string(op.Kernel().status().message()), HasSubstr(c.message));
  }
}

TEST(BatchNormalizationTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  struct {
    int opset;
    std::vector<int64_t> shape, parameters;
    int64_t spatial;
  } cases[] = {{7, {2, 3, 4, 5}, {3}, 1}, {7, {2, 3, 4}, {3, 4}, 0}, {9, {3, 37}, {37}, 1},
               {9, {5}, {1}, 1},          {14, {2, 3, 33}, {3}, 1},  {15, {0, 3, 33}, {3}, 1}};
  for (const auto& c : cases) {
    OpTester op("BatchNormalization", c.opset);
    if (c.opset == 7) op.Attribute("spatial", c.spatial);
    op.Input(RandomFloats(c.shape, generator));
    for (int i = 0; i < 3; ++i) op.Constant(RandomFloats(c.parameters, generator));
    Tensor variance = RandomFloats(c.parameters, generator);
    for (int64_t i = 0; i < variance.num_elements(); ++i) {
      float& value = variance.mutable_data<float>()[i];
      value = value * value + 0.1F;
    }
    op.Constant(variance);
    // A few roundings of (x - mean) / sqrt(0.1) * scale, with numbers of up to five standard
    // deviations.
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 500 * kEpsilon);
  }
}

TEST(BatchNormalizationTest, ErrorsSayWhatIsWrong) {
  OpTester short_mean("BatchNormalization", 15);
  short_mean.Input(Make<float>({1, 2}, {1, 2}));
  for (int i = 0; i < 4; ++i) short_mean.Input(Make<float>({1}, {1}));
  EXPECT_EQ(short_mean.Reference().status().message(),
            "expected input 1 to hold 2 floats, but it is float[1]");
  OpTester training("BatchNormalization", 9);
  training.Outputs(3).Input(Make<float>({1, 1}, {1}));
  for (int i = 0; i < 4; ++i) training.Input(Make<float>({1}, {1}));
  EXPECT_EQ(training.Reference().status().code(), absl::StatusCode::kUnimplemented);
}

TEST(SimpleNormalizationTest, FollowTheFormulas) {
  OpTester lp1("LpNormalization", 22);
  lp1.Attribute("p", int64_t{1}).Attribute("axis", int64_t{0});
  lp1.Input(Make<float>({2, 2}, {1, 0, -3, 0}));
  ExpectClose(lp1.Reference().value()[0], Make<float>({2, 2}, {.25, 0, -.75, 0}), 0);
  OpTester lp2("LpNormalization", 7);
  lp2.Input(Make<float>({1, 2}, {3, 4}));
  ExpectClose(lp2.Reference().value()[0], Make<float>({1, 2}, {.6F, .8F}), kEpsilon);
  OpTester variance("MeanVarianceNormalization", 13);
  variance.Attribute("axes", std::vector<int64_t>{-1}).Input(Make<float>({2, 2}, {1, 3, 5, 5}));
  ExpectClose(variance.Reference().value()[0], Make<float>({2, 2}, {-1, 1, 0, 0}), 1e-8);
  OpTester lrn("LRN", 13);
  lrn.Attribute("size", int64_t{2}).Attribute("alpha", 2.0F).Attribute("beta", 1.0F);
  lrn.Input(Make<float>({1, 3, 1}, {1, 2, 3}));
  ExpectClose(lrn.Reference().value()[0], Make<float>({1, 3, 1}, {1 / 6.F, 2 / 14.F, .3F}),
              kEpsilon);
}

TEST(SimpleNormalizationTest, ErrorsSayWhatIsWrong) {
  const Tensor x = Make<float>({1, 2}, {3, 4});
  struct {
    const char* op;
    const char* attribute;
    AttributeValue value;
    const char* message;
  } cases[] = {
      {"LpNormalization", "p", int64_t{3}, "expected p to be 1 or 2, but it is 3"},
      {"LpNormalization", "axis", int64_t{2}, "axis 2 is outside [-2,1]"},
      {"MeanVarianceNormalization", "axes", std::vector<int64_t>{5}, "axis 5 is outside"},
      {"LRN", "size", int64_t{0}, "expected a positive size"},
      {"LRN", "alpha", 1.0F, "attribute 'size' is required"},
  };
  for (const auto& c : cases) {
    OpTester op(c.op, 22);
    op.Attribute(c.attribute, c.value).Input(x);
    EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace attnrun::testing
