// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

// Scores are sums of 4 products of numbers up to 5, whose errors the exponential magnifies.
constexpr double kTolerance = 256 * kEpsilon;

// The divisor of the masked probabilities, and what follows.
enum class Form { kPlain, kPadded, kBounded, kChosen, kBoundedTwice, kCapped };

struct Options {
  Form form = Form::kPlain;
  float least = 1e-13F;
  bool masks_scores = false;
  bool has_causal_bias = false;
  // Bool; otherwise numbers, which need not be 1 or 0.
  bool is_bool = true;
};

OptimizerTester Masked(const Options& options) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, "queries", 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, "keys", 4});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 2, "keys", 4});
    const DataType type = options.is_bool ? DataType::kBool : DataType::kFloat;
    Value* mask = b.Input("mask", type, {"batch", "queries", "keys"});
    if (options.is_bool) mask = b.Op("Cast", {mask}, {{"to", int64_t{1}}});
    mask = b.Op("Unsqueeze", {mask, b.Constant<int64_t>("axes", {1}, {1})});
    // So small that every key has some weight.
    Value* scores = b.Op("Mul", {b.Op("MatMul", {q, Transposed(b, k, {0, 1, 3, 2})}),
                                 b.Constant<float>("scale", {}, {0.125F})});
    if (options.has_causal_bias) {
      scores =
          b.Op("Add", {scores, b.Op("Where", {b.Input("open", DataType::kBool, {"queries", "keys"}),
                                              b.Constant<float>("zero", {}, {0}),
                                              b.Constant<float>("closed", {}, {-1e9F})})});
    }
    if (options.masks_scores) scores = b.Op("Mul", {scores, mask});
    Value* p = b.Op("Softmax", {scores}, {{"axis", int64_t{-1}}});
    p = b.Op("Mul", {p, mask});
    Value* sum = b.Op("ReduceSum", {p, b.Constant<int64_t>("last", {1}, {-1})});
    Value* least = b.Constant<float>("least", {}, {options.least});
    Value* zero = b.Constant<float>("zero", {}, {0});
    Value* one = b.Constant<float>("one", {}, {1});
    Value* is_left = b.Op("Greater", {sum, zero});
    Value* divisor = sum;
    if (options.form == Form::kPadded) divisor = b.Op("Add", {sum, least});
    if (options.form == Form::kBounded) divisor = b.Op("Max", {sum, least});
    if (options.form == Form::kChosen) divisor = b.Op("Where", {is_left, sum, one});
    Value* half = b.Constant<float>("half", {}, {0.5F});
    if (options.form == Form::kBoundedTwice) divisor = b.Op("Max", {sum, least, half});
    if (options.form == Form::kCapped) divisor = b.Op("Clip", {sum, least, half});
    Value* quotient = b.Op("Div", {p, divisor});
    if (options.form == Form::kChosen) quotient = b.Op("Where", {is_left, quotient, zero});
    b.Output(b.Op("MatMul", {quotient, v}));
  });
}

TEST(MaskedSoftmaxTest, MasksTheScores) {
  for (const Form form : {Form::kPlain, Form::kPadded, Form::kBounded, Form::kChosen}) {
    for (const bool masks_scores : {false, true}) {
      OptimizerTester test = Masked({.form = form, .masks_scores = masks_scores});
      EXPECT_EQ(test.Count("attnrun.Attention"), 1) << static_cast<int>(form);
      EXPECT_EQ(test.Count("Div") + test.Count("Where") + test.Count("Cast"), 0);
      // Some rows of two keys have none.
      test.Dim("keys", 2).ExpectSameResults(kTolerance);
    }
  }
}

TEST(MaskedSoftmaxTest, OtherNumbersStay) {
  EXPECT_EQ(Masked({.is_bool = false}).Count("attnrun.Attention"), 0);
  // All weight may be on keys that the mask closes.
  OptimizerTester causal = Masked({.form = Form::kChosen, .has_causal_bias = true});
  EXPECT_EQ(causal.Count("attnrun.Attention"), 0);
  causal.Dim("keys", 5).ExpectSameResults(kTolerance);
  // 1e-8 counts beside what is left where the best key is masked and 10 above the others.
  for (const float least : {1e-8F, 0.1F}) {
    OptimizerTester large = Masked({.form = Form::kPadded, .least = least});
    EXPECT_EQ(large.Count("attnrun.Attention"), 0) << least;
    large.Dim("keys", 5).ExpectSameResults(kTolerance);
  }
}

TEST(MaskedSoftmaxTest, OtherBoundsOfTheSumStay) {
  for (const Form form : {Form::kBoundedTwice, Form::kCapped}) {
    OptimizerTester test = Masked({.form = form});
    EXPECT_EQ(test.Count("attnrun.Attention"), 0) << static_cast<int>(form);
    test.Dim("keys", 5).ExpectSameResults(kTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
