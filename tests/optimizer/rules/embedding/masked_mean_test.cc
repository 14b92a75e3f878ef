// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Sums of 3 products.
constexpr double kTolerance = 16 * kEpsilon;

struct Pooling {
  GraphBuilder& b;
  Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 4});
  Value* mask = b.Input("mask", DataType::kInt64, {"batch", "seq"});

  Value* Axis(int64_t axis) { return b.Constant<int64_t>("axis", {1}, {axis}); }
  Value* Float(Value* value) { return b.Op("Cast", {value}, {{"to", int64_t{1}}}); }
  Value* Sum(Value* value, int64_t axis = 1, int64_t keepdims = 0) {
    return b.Op("ReduceSum", {value, Axis(axis)}, {{"keepdims", keepdims}});
  }
  Value* Mean(Value* m, Value* counted, int64_t axis = 1) {
    Value* least = b.Constant<float>("least", {}, {1e-9F});
    Value* count = b.Op("Clip", {Sum(counted, axis), least});
    return b.Op("Div", {Sum(b.Op("Mul", {x, m}), axis), count});
  }
};

TEST(MaskedMeanFusionTest, FusesAnyOrderOfCastUnsqueezeAndExpand) {
  for (const std::string spelling : {"cast last", "cast first", "expanded"}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Pooling p{b};
      Value* m = nullptr;
      if (spelling == "cast last") m = p.Float(b.Op("Unsqueeze", {p.mask, p.Axis(-1)}));
      if (spelling == "cast first") m = b.Op("Unsqueeze", {p.Float(p.mask), p.Axis(2)});
      if (spelling == "expanded") {
        Value* column = b.Op("Unsqueeze", {p.mask, p.Axis(-1)});
        m = p.Float(b.Op("Expand", {column, b.Op("Shape", {p.x})}));
      }
      b.Output(p.Mean(m, m));
    });
    EXPECT_EQ(test.Ops(), "attnrun.MaskedMean") << spelling;
    for (const int64_t seq : {1, 3}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
  }
}

TEST(MaskedMeanFusionTest, OtherMeansStay) {
  OptimizerTester other_mask([](GraphBuilder& b) {
    Pooling p{b};
    Value* other = b.Input("other", DataType::kFloat, {"batch", "seq", 1});
    b.Output(p.Mean(p.Float(b.Op("Unsqueeze", {p.mask, p.Axis(-1)})), other));
  });
  EXPECT_EQ(other_mask.Count("attnrun.MaskedMean"), 0);
  // The sum of the mask divides, so its numbers have one sign and cannot cancel out.
  other_mask.Feed("other", Make<float>({3, 3, 1}, {1, 2, 1, 0, 3, 1, 2, 2, 0}));
  other_mask.ExpectSameResults(kTolerance);
  // The sum has another reader.
  OptimizerTester read([](GraphBuilder& b) {
    Pooling p{b};
    Value* m = p.Float(b.Op("Unsqueeze", {p.mask, p.Axis(-1)}));
    Value* product = b.Op("Mul", {p.x, m});
    Value* count = b.Op("Clip", {p.Sum(m), b.Constant<float>("least", {}, {1})});
    b.Output(b.Op("Div", {p.Sum(product), count})).Output(product);
  });
  EXPECT_EQ(read.Count("attnrun.MaskedMean"), 0);
  read.ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
