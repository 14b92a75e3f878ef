// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <vector>

#include "core/elements.h"
#include "support/attention_graph.h"

// The nodes between the product and its Softmax.
namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AttentionScoresTest, ScoresAbsorbedByTheBiasStayAbsorbed) {
  OptimizerTester test = WithScores([](GraphBuilder& b, Value* s) {
    return b.Op("Add", {s, b.Input("bias", DataType::kFloat, {"batch", 1, 1, "seq"})});
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  test.Dim("seq", 2).Feed("bias", Make<float>({3, 1, 1, 2}, {0, 0, -1e9F, -1e9F, -1e9F, 0}));
  test.ExpectSameResults(kAttentionTolerance);
}

// Two masks, of the scores and then of the scores with a bias, before another bias: a key that both
// exclude has the score of those that one excludes. In a row without any key all have the same
// weight.
TEST(AttentionScoresTest, AKeyThatIsMaskedTwiceIsNoLower) {
  constexpr float kLeast = std::numeric_limits<float>::lowest();
  for (const bool bias_between : {false, true}) {
    OptimizerTester test = WithScores([&](GraphBuilder& b, Value* s) {
      s = b.Op("Where",
               {b.Input("first", DataType::kBool, {"batch", 1, 1, "seq"}), s, Number(b, kLeast)});
      Value* bias = b.Input("bias", DataType::kFloat, {"batch", 1, 1, "seq"});
      if (bias_between) s = b.Op("Add", {s, bias});
      s = b.Op("Where",
               {b.Input("second", DataType::kBool, {"batch", 1, 1, "seq"}), Number(b, kLeast), s});
      return b.Op("Add", {s, b.Input("last", DataType::kFloat, {"batch", 1, 1, "seq"})});
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    test.Dim("seq", 3).Feed("first", MakeBool({3, 1, 1, 3}, {0, 0, 1, 1, 1, 0, 0, 0, 0}));
    test.Feed("second", MakeBool({3, 1, 1, 3}, {1, 0, 1, 0, 1, 0, 1, 1, 1}));
    const std::vector<float> low = {kLeast, 0, 1, 1, kLeast, 0, 2, 0, kLeast};
    test.Feed("bias", Make<float>({3, 1, 1, 3}, low));
    test.ExpectSameResults(kAttentionTolerance);
  }
}

// The masks become biases of the type that the bias has.
TEST(AttentionScoresTest, MasksBeforeABiasTakeItsType) {
  constexpr double kLeast = -0x1.FEp127;
  constexpr DataType kType = DataType::kBfloat16;
  OptimizerTester test([&](GraphBuilder& b) {
    Value* q = b.Input("q", kType, {"batch", 2, "seq", 4});
    Value* k = b.Input("k", kType, {"batch", 2, 4, "seq"});
    Value* v = b.Input("v", kType, {"batch", 2, "seq", 4});
    Value* least = b.Constant("least", FromDoubles(kType, {}, {kLeast}).value());
    Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
    Value* masked = b.Op("Where", {mask, b.Op("MatMul", {q, k}), least});
    Value* s = b.Op("Add", {masked, b.Input("bias", kType, {2, 1, "seq"})});
    b.Output(b.Op("MatMul", {b.Op("Softmax", {s}, {{"axis", int64_t{-1}}}), v}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  // Scores, probabilities and results are rounded to 8 bits.
  test.Dim("seq", 3).ExpectSameResults(16.0 / 256);
}

// XGLM raises the sum of scores and mask to the lowest float, so that a fully masked row becomes an
// average.
TEST(AttentionScoresTest, AFloorUnderTheMaskedScoresIsFused) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kLeast = std::numeric_limits<float>::lowest();
  for (const float factor : {1.0F, 0.5F}) {
    OptimizerTester test = WithScores([&](GraphBuilder& b, Value* s) {
      Value* bias = b.Input("bias", DataType::kFloat, {"batch", 1, 1, "seq"});
      Value* sum = b.Op("Add", {s, b.Op("Add", {bias, b.Constant<float>("two", {1}, {2})})});
      return b.Op("Mul", {b.Op("Max", {sum, Number(b, kLeast)}), Number(b, factor)});
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("Max"), 1);
    test.Dim("seq", 2).Feed("bias", Make<float>({3, 1, 1, 2}, {0, -kInf, -kInf, -kInf, kLeast, 1}));
    test.ExpectSameResults(kAttentionTolerance);
  }
  OptimizerTester chosen = WithScores([&](GraphBuilder& b, Value* s) {
    Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
    Value* bias = b.Op("Where", {mask, Number(b, 0), Number(b, kLeast)});
    return b.Op("Max", {b.Op("Add", {s, bias}), Number(b, kLeast)});
  });
  EXPECT_EQ(chosen.Ops(), "attnrun.Attention");
  chosen.ExpectSameResults(kAttentionTolerance);
  // Bloom writes the same as a Clip.
  OptimizerTester clamped = WithScores([&](GraphBuilder& b, Value* s) {
    Value* bias = b.Input("bias", DataType::kFloat, {"batch", 1, 1, "seq"});
    return b.Op("Clip", {b.Op("Add", {s, bias}), Number(b, kLeast)});
  });
  EXPECT_EQ(clamped.Count("attnrun.Attention"), 1);
  clamped.Dim("seq", 2).Feed("bias", Make<float>({3, 1, 1, 2}, {0, -kInf, -kInf, -kInf, 2, 1}));
  clamped.ExpectSameResults(kAttentionTolerance);
  for (const float least : {-0.1F, kLeast}) {
    const OptimizerTester both = WithScores([&](GraphBuilder& b, Value* s) {
      return b.Op("Clip", {s, Number(b, least), Number(b, 0.1F)});
    });
    EXPECT_EQ(both.Count("attnrun.Attention"), 0);
    EXPECT_THAT(both.Misses("attention"), ElementsAre(HasSubstr("(Clip)")));
  }
  const OptimizerTester high =
      WithScores([&](GraphBuilder& b, Value* s) { return b.Op("Max", {s, Number(b, -0.1F)}); });
  EXPECT_EQ(high.Count("attnrun.Attention"), 0);
  high.ExpectSameResults(kAttentionTolerance);
}

// CogView and LayoutLMv3 compute (x - max(x)) * alpha and restore the reduced axis with an
// Unsqueeze.
TEST(AttentionScoresTest, AnExplicitSubtractionOfTheMaximumIsDropped) {
  const auto shifted = [](GraphBuilder& b, Value* s) {
    Value* last = b.Constant<int64_t>("last", {1}, {-1});
    Value* maximum = b.Op("ReduceMax", {s, last}, {{"keepdims", int64_t{0}}});
    return b.Op("Sub", {s, b.Op("Unsqueeze", {maximum, last})});
  };
  const OptimizerTester test = WithScores([&](GraphBuilder& b, Value* s) {
    return b.Op("Mul", {shifted(b, b.Op("Div", {s, Number(b, 32)})), Number(b, 32)});
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  test.ExpectSameResults(kAttentionTolerance);
  // The shift matters if a finite mask value or a tanh follows.
  const OptimizerTester masked = WithScores([&](GraphBuilder& b, Value* s) {
    Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
    return b.Op("Where", {mask, shifted(b, s), Number(b, -1)});
  });
  EXPECT_EQ(masked.Count("attnrun.Attention"), 0);
  masked.ExpectSameResults(kAttentionTolerance);
  const OptimizerTester capped =
      WithScores([&](GraphBuilder& b, Value* s) { return b.Op("Tanh", {shifted(b, s)}); });
  EXPECT_EQ(capped.Count("attnrun.Attention"), 0);
}

// Swin v2's scale per head, a temperature that is an input, a factor per query.
TEST(AttentionScoresTest, AFactorPerHeadOrQueryMovesToTheQuery) {
  const std::vector<Between> spellings = {
      [](GraphBuilder& b, Value* s) {
        return b.Op("Mul", {s, b.Constant<float>("scale", {2, 1, 1}, {0.5F, 2})});
      },
      [](GraphBuilder& b, Value* s) {
        return b.Op("Div", {s, b.Input("temperature", DataType::kFloat, {})});
      },
      [](GraphBuilder& b, Value* s) {
        return b.Op("Mul", {b.Input("by_query", DataType::kFloat, {"batch", 1, "seq", 1}), s});
      },
      // On top of the usual scale.
      [](GraphBuilder& b, Value* s) {
        Value* scaled = b.Op("Div", {s, Number(b, 2)});
        return b.Op("Mul", {scaled, b.Input("temperature", DataType::kFloat, {})});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithScores(spellings[i]);
    test.Feed("temperature", Make<float>({}, {1.5F}));
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
    test.ExpectSameResults(kAttentionTolerance);
  }
}

// A mask of heads or queries, or the factor a dropout leaves; a factor per key becomes one of the
// values.
TEST(AttentionScoresTest, AFactorOfTheProbabilitiesMovesToTheResult) {
  const std::vector<Between> spellings = {
      [](GraphBuilder& b, Value* p) { return b.Op("Mul", {p, Number(b, 0.5F)}); },
      [](GraphBuilder& b, Value* p) {
        return b.Op("Div", {p, b.Constant<float>("factor", {2, 1, 1}, {0.5F, 2})});
      },
      [](GraphBuilder& b, Value* p) {
        return b.Op("Mul", {b.Input("kept", DataType::kFloat, {1, 2, 1, 1}), p});
      },
      [](GraphBuilder& b, Value* p) {
        return b.Op("Mul", {b.Input("gate", DataType::kFloat, {"batch", 2, "seq", 1}), p});
      },
      [](GraphBuilder& b, Value* p) {
        return b.Op("Mul", {p, b.Input("keys", DataType::kFloat, {"batch", 1, 1, "seq"})});
      },
      [](GraphBuilder& b, Value* p) {
        return b.Op("Mul", {p, b.Input("keys", DataType::kFloat, {"seq"})});
      },
      [](GraphBuilder& b, Value* p) {
        p = b.Op("Mul", {p, b.Input("gate", DataType::kFloat, {"batch", 2, "seq", 1})});
        return b.Op("Mul", {b.Input("keys", DataType::kFloat, {"batch", 2, 1, "seq"}), p});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test([&](GraphBuilder& b) {
      b.Output(Finish(b, spellings[i](b, b.Op("Softmax", {Scores(b)}))));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
    test.ExpectSameResults(kAttentionTolerance);
  }
  const OptimizerTester by_both([](GraphBuilder& b) {
    Value* factor = b.Input("factor", DataType::kFloat, {"batch", 1, "seq", "seq"});
    b.Output(Finish(b, b.Op("Mul", {b.Op("Softmax", {Scores(b)}), factor})));
  });
  EXPECT_EQ(by_both.Count("attnrun.Attention"), 0);
  EXPECT_THAT(by_both.Misses("attention"), ElementsAre(HasSubstr("(Mul)")));
  by_both.ExpectSameResults(kAttentionTolerance);
}

// There is a factor for each of several keys, but the scores have only one key.
TEST(AttentionScoresTest, AFactorThatAddsKeysStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, "seq", 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, 4, 1});
    Value* p = b.Op("Softmax", {b.Op("MatMul", {q, k})});
    p = b.Op("Mul", {p, b.Input("factor", DataType::kFloat, {"batch", 1, 1, 5})});
    b.Output(b.Op("MatMul", {p, b.Input("v", DataType::kFloat, {"batch", 2, 5, 4})}));
  });
  EXPECT_EQ(test.Applied("row_factors"), 0);
  test.ExpectSameResults(kAttentionTolerance);
}

// softmax(-|q - k|^2), with |q|^2 - 2qk + |k|^2 written out.
TEST(AttentionScoresTest, ScoresMayBeSubtractedFromABias) {
  const std::vector<Between> spellings = {
      [](GraphBuilder& b, Value* s) { return b.Op("Neg", {s}); },
      [](GraphBuilder& b, Value* s) {
        Value* squares = b.Input("squares", DataType::kFloat, {"batch", 2, "seq", "seq"});
        return b.Op("Neg", {b.Op("Sub", {squares, b.Op("Mul", {s, Number(b, 2)})})});
      },
      [](GraphBuilder& b, Value* s) {
        Value* squares = b.Input("squares", DataType::kFloat, {1, 1, 1, "seq"});
        return b.Op("Sub", {squares, s});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithScores(spellings[i]);
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
    test.ExpectSameResults(kAttentionTolerance);
  }
  // With its sign changed, a mask value becomes the largest score.
  const OptimizerTester masked = WithScores([](GraphBuilder& b, Value* s) {
    Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
    constexpr float kInf = std::numeric_limits<float>::infinity();
    return b.Op("Neg", {b.Op("Where", {mask, s, Number(b, -kInf)})});
  });
  EXPECT_EQ(masked.Count("attnrun.Attention"), 0);
}

// scores * b - 10000 * (1 - b) with b = 1 or 0, as in GPT and the first GPT-2. Biases that follow
// also apply to masked keys: if all unmasked keys are padding, attention goes to the masked ones.
TEST(AttentionScoresTest, ScoresMayBeMultipliedByOneOrZero) {
  const std::vector<Between> spellings = {
      [](GraphBuilder&, Value* s) { return s; },
      [](GraphBuilder& b, Value* s) {
        return b.Op("Add", {s, b.Input("bias", DataType::kFloat, {"batch", 1, 1, 3})});
      },
      [](GraphBuilder& b, Value* s) { return b.Op("Mul", {s, Number(b, 0.5F)}); }};
  for (const bool adds : {false, true}) {
    for (size_t i = 0; i < spellings.size(); ++i) {
      SCOPED_TRACE(i);
      OptimizerTester test([&](GraphBuilder& b) {
        const auto input = [&](const char* name) {
          return b.Input(name, DataType::kFloat, {"batch", 3, 8});
        };
        Value* s = b.Op("MatMul", {Heads(b, input("q")), Heads(b, input("k"), true)});
        Value* open = b.Constant<float>("open", {1, 1, 3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1});
        Value* shut = b.Op("Sub", {Number(b, 1), open});
        shut = b.Op("Mul", {shut, Number(b, adds ? -1e4F : 1e4F)});
        s = b.Op("Mul", {b.Op("Mul", {s, Number(b, 0.5F)}), open});
        s = spellings[i](b, b.Op(adds ? "Add" : "Sub", {s, shut}));
        b.Output(b.Op("MatMul", {b.Op("Softmax", {s}), Heads(b, input("v"))}));
      });
      EXPECT_THAT(test.Misses("attention"), IsEmpty());
      EXPECT_EQ(test.Count("attnrun.Attention"), 1);
      EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
      test.Dim("batch", 2);
      constexpr float kLeast = std::numeric_limits<float>::lowest();
      if (i == 1) test.Feed("bias", Make<float>({2, 1, 1, 3}, {kLeast, kLeast, 0, kLeast, 0, 1}));
      test.ExpectSameResults(kAttentionTolerance);
    }
  }
}

// (scores + bias) * b - 10000 * (1 - b): 0 times a bias of -inf would be NaN.
TEST(AttentionScoresTest, BiasedScoresMayBeMultipliedByOneOrZero) {
  for (const bool given : {false, true}) {
    const OptimizerTester test = WithScores([=](GraphBuilder& b, Value* s) {
      Value* bias = given ? b.Input("bias", DataType::kFloat, {"batch", 2, "seq", "seq"})
                          : b.Constant<float>("bias", {2, 1, 1}, {0.5F, -2});
      Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
      Value* open = b.Op("Cast", {mask}, {{"to", int64_t{1}}});
      Value* shut = b.Op("Mul", {b.Op("Sub", {Number(b, 1), open}), Number(b, 1e4F)});
      return b.Op("Sub", {b.Op("Mul", {b.Op("Add", {s, bias}), open}), shut});
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), given ? 0 : 1);
    test.ExpectSameResults(kAttentionTolerance);
  }
}

TEST(AttentionScoresTest, AnInfiniteFactorIsNotAScale) {
  const OptimizerTester test =
      WithScores([](GraphBuilder& b, Value* s) { return b.Op("Div", {s, Number(b, 0)}); });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(AttentionScoresTest, PlusInfinityIsNotAMaskValue) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
    Value* p = b.Op("Softmax", {b.Op("Where", {mask, Scores(b), Number(b, INFINITY)})});
    b.Output(Finish(b, b.Op("Where", {b.Op("IsNaN", {p}), Number(b, 0), p})));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  test.Dim("seq", 2).Feed("mask", MakeBool({3, 1, 1, 2}, {1, 0, 1, 1, 0, 0}));
  test.ExpectSameResults(kAttentionTolerance);
}

// For one query and cached keys, copying the keys would take longer than the scores.
TEST(AttentionScoresTest, FactorsStayIfThereAreMoreKeysThanQueries) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, "seq", 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, 4, "keys"});
    Value* factor = b.Input("factor", DataType::kFloat, {"batch", 1, 1, "keys"});
    Value* p = b.Op("Softmax", {b.Op("Mul", {b.Op("MatMul", {q, k}), factor})});
    b.Output(b.Op("MatMul", {p, b.Input("v", DataType::kFloat, {"batch", 2, "keys", 4})}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  EXPECT_EQ(test.Applied("row_factors"), 0);
  test.ExpectSameResults(kAttentionTolerance);
}

// An integer mask whose numbers need not be 0 and 1.
TEST(AttentionScoresTest, FactorsPerKeyMoveToTheKeys) {
  for (const bool scaled : {false, true}) {
    OptimizerTester test = WithScores([&](GraphBuilder& b, Value* s) {
      Value* mask = b.Input("mask", DataType::kInt64, {"batch", 1, 1, "seq"});
      Value* open = b.Op("Cast", {mask}, {{"to", static_cast<int64_t>(DataType::kFloat)}});
      Value* closed = b.Op("Mul", {b.Op("Sub", {Number(b, 1), open}), Number(b, -1e4F)});
      if (scaled) s = b.Op("Div", {s, Number(b, 2)});
      return b.Op("Add", {b.Op("Mul", {s, open}), closed});
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
    test.Dim("batch", 2)
        .Dim("seq", 3)
        .Feed("mask", Make<int64_t>({2, 1, 1, 3}, {1, 0, 1, 1, 2, 0}));
    test.ExpectSameResults(kAttentionTolerance);
  }
}

// A scale for each head, as Swin v2 has, also of scores that were viewed in other ways before.
TEST(AttentionScoresTest, FactorsPerHeadMoveToTheQueries) {
  const auto scale = [](GraphBuilder& b) {
    return b.Op("Exp", {b.Input("scale", DataType::kFloat, {2, 1, 1})});
  };
  const std::vector<Between> spellings = {
      [=](GraphBuilder& b, Value* s) { return b.Op("Mul", {s, scale(b)}); },
      [=](GraphBuilder& b, Value* s) {
        return b.Op("Div", {b.Op("Mul", {s, Number(b, 0.5F)}), scale(b)});
      },
      [=](GraphBuilder& b, Value* s) {
        s = b.Op("Mul",
                 {Transposed(b, s, {1, 0, 2, 3}), b.Op("Unsqueeze", {scale(b), Vector(b, {1})})});
        return Transposed(b, s, {1, 0, 2, 3});
      },
      // Behind the factor comes a softcap.
      [=](GraphBuilder& b, Value* s) {
        s = b.Op("Mul", {b.Op("Unsqueeze", {s, Vector(b, {0})}), scale(b)});
        s = b.Op("Tanh", {b.Op("Div", {s, Number(b, 5)})});
        return b.Op("Squeeze", {b.Op("Mul", {s, Number(b, 5)}), Vector(b, {0})});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithScores(spellings[i]);
    EXPECT_EQ(test.Applied("row_factors"), 1);
    ExpectOneAttention(std::move(test), 2 * kAttentionTolerance);
  }
}

TEST(AttentionScoresTest, FactorsOfScoresThatAreReadStay) {
  const OptimizerTester test = WithScores([](GraphBuilder& b, Value* s) {
    Value* viewed = b.Op("Unsqueeze", {s, Vector(b, {0})});
    b.Output(viewed);
    Value* factor = b.Input("factor", DataType::kFloat, {2, "seq", 1});
    return b.Op("Squeeze", {b.Op("Mul", {viewed, factor}), Vector(b, {0})});
  });
  EXPECT_EQ(test.Applied("row_factors"), 0);
  test.ExpectSameResults(kAttentionTolerance);
}

}  // namespace
}  // namespace attnrun::testing
