// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr float kInf = std::numeric_limits<float>::infinity();

// A column with a row per score row, [batch, 2, seq, 1], from one number per head.
Value* Column(GraphBuilder& b, Value* scores) {
  Value* rows = b.Op("Shape", {scores}, {{"end", int64_t{3}}});
  Value* shape =
      b.Op("Concat", {rows, b.Constant<int64_t>("one", {1}, {1})}, {{"axis", int64_t{0}}});
  Value* sinks = b.Constant<float>("sinks", {2}, {0.5F, -1});
  return b.Op("Expand", {Shaped(b, sinks, {1, -1, 1, 1}), shape});
}

Value* Beside(GraphBuilder& b, const std::vector<Value*>& parts) {
  return b.Op("Concat", parts, {{"axis", int64_t{-1}}});
}

// Columns [start, end) of the last axis.
Value* Cut(GraphBuilder& b, Value* x, int64_t start, int64_t end) {
  return Sliced(b, x, start, end, -1);
}
Value* WithoutLast(GraphBuilder& b, Value* x) { return Cut(b, x, 0, -1); }

// Attention with `between` in place of the Softmax.
OptimizerTester WithProbabilities(const Between& between) {
  return OptimizerTester([&](GraphBuilder& b) { b.Output(Finish(b, between(b, Scores(b)))); });
}

void ExpectFused(const std::vector<Between>& spellings) {
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithProbabilities(spellings[i]);
    EXPECT_EQ(test.Ops(), "attnrun.Attention");
    test.ExpectSameResults(kAttentionTolerance);
    test.Dim("batch", 2).Dim("seq", 1).ExpectSameResults(kAttentionTolerance);
    test.Dim("batch", 1).Dim("seq", 70).ExpectSameResults(kAttentionTolerance);
  }
}

TEST(AttentionSinksTest, SpellingsBecomeOneOperator) {
  ExpectFused({
      [](GraphBuilder& b, Value* s) {
        return WithoutLast(b, b.Op("Softmax", {Beside(b, {s, Column(b, s)})}));
      },
      [](GraphBuilder& b, Value* s) {
        Value* all = Beside(b, {s, Column(b, s)});
        Value* axis = b.Constant<int64_t>("last", {1}, {-1});
        all = b.Op("Sub", {all, b.Op("ReduceMax", {all, axis})});
        return WithoutLast(b, b.Op("Softmax", {all}));
      },
      [](GraphBuilder& b, Value* s) {
        constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
        return Cut(b, b.Op("Softmax", {Beside(b, {Column(b, s), s})}), 1, kEnd);
      },
      [](GraphBuilder& b, Value* s) {
        Value* keys = b.Op("Shape", {s}, {{"start", int64_t{3}}});
        Value* one = b.Constant<int64_t>("one", {1}, {1});
        Value* sizes = b.Op("Concat", {keys, one}, {{"axis", int64_t{0}}});
        Value* p = b.Op("Softmax", {Beside(b, {s, Column(b, s)})});
        return b.Ops("Split", 2, {p, sizes}, {{"axis", int64_t{3}}})[0];
      },
      [](GraphBuilder& b, Value* s) {
        Value* pads = b.Constant<int64_t>("pads", {8}, {0, 0, 0, 0, 0, 0, 0, 1});
        return WithoutLast(b, b.Op("Softmax", {b.Op("Pad", {s, pads})}));
      },
      [](GraphBuilder& b, Value* s) {
        Value* pads = b.Constant<int64_t>("pads", {2}, {1, 0});
        Value* axis = b.Constant<int64_t>("axis", {1}, {-1});
        Value* p = b.Op("Softmax", {b.Op("Pad", {s, pads, Number(b, 1.5F), axis})});
        return Cut(b, p, 1, std::numeric_limits<int64_t>::max());
      },
  });
}

// Exponentials divided by their sum plus the exponential of a number or a sink per head, written
// out.
Value* Quotient(GraphBuilder& b, Value* s, Value* shift, Value* sink) {
  Value* e = b.Op("Exp", {b.Op("Sub", {s, shift})});
  Value* own = sink == nullptr ? b.Op("Neg", {shift}) : b.Op("Sub", {sink, shift});
  Value* sum = b.Op("ReduceSum", {e, b.Constant<int64_t>("last", {1}, {-1})});
  return b.Op("Div", {e, b.Op("Add", {b.Op("Exp", {own}), sum})});
}
Value* Greatest(GraphBuilder& b, Value* s) {
  return b.Op("ReduceMax", {s, b.Constant<int64_t>("last", {1}, {-1})});
}

// Exponentials divided by their sum plus a number.
Value* BesideNumber(GraphBuilder& b, Value* e, float number) {
  Value* sum = b.Op("ReduceSum", {e, b.Constant<int64_t>("last", {1}, {-1})});
  return b.Op("Div", {e, b.Op("Add", {Number(b, number), sum})});
}

TEST(AttentionSinksTest, QuotientsOfExponentialsAreSoftmaxes) {
  ExpectFused({
      [](GraphBuilder& b, Value* s) { return Quotient(b, s, Greatest(b, s), nullptr); },
      [](GraphBuilder& b, Value* s) {
        return Quotient(b, s, b.Op("Relu", {Greatest(b, s)}), nullptr);
      },
      [](GraphBuilder& b, Value* s) {
        return Quotient(b, s, b.Op("Clip", {Greatest(b, s), Number(b, 0)}), nullptr);
      },
      [](GraphBuilder& b, Value* s) {
        Value* sinks = b.Constant<float>("sinks", {2, 1, 1}, {0.5F, -1});
        return Quotient(b, s, b.Op("Max", {Greatest(b, s), sinks}), sinks);
      },
      [](GraphBuilder& b, Value* s) { return BesideNumber(b, b.Op("Exp", {s}), 1); },
      [](GraphBuilder& b, Value* s) { return BesideNumber(b, b.Op("Exp", {s}), 1e-3F); },
  });
}

// Attention whose result is multiplied by Sigmoid(ReduceLogSumExp(scores) - sink), with sinks for
// so many samples.
OptimizerTester Gated(const Between& between, bool keeps_axis, int64_t samples = 1) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* s = between(b, Scores(b));
    Value* y = b.Op("MatMul", {b.Op("Softmax", {s}), Heads(b, Input(b, "v"))});
    Value* sum = b.Op("ReduceLogSumExp", {s, b.Constant<int64_t>("last", {1}, {-1})},
                      {{"keepdims", int64_t{keeps_axis ? 1 : 0}}});
    Value* sinks = b.Constant<float>("sinks", {2, 1}, {0.5F, -1});
    if (keeps_axis) sinks = Shaped(b, sinks, {2, 1, 1});
    if (samples > 1)
      sinks = b.Op("Tile", {Shaped(b, sinks, {1, 2, 1, 1}), Vector(b, {samples, 1, 1, 1})});
    Value* gate = b.Op("Sigmoid", {b.Op("Sub", {sum, sinks})});
    if (!keeps_axis) gate = b.Op("Unsqueeze", {gate, b.Constant<int64_t>("axis", {1}, {-1})});
    b.Output(Transposed(b, b.Op("Mul", {y, gate}), {0, 2, 1, 3}));
  });
}

Value* MaskedWith(GraphBuilder& b, Value* s, float closed) {
  Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
  return b.Op("Add", {s, b.Op("Where", {mask, Number(b, 0), Number(b, closed)})});
}

TEST(AttentionSinksTest, AGateOfTheSumIsASink) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  for (const bool keeps_axis : {false, true}) {
    OptimizerTester plain = Gated([](GraphBuilder&, Value* s) { return s; }, keeps_axis);
    EXPECT_EQ(plain.Count("attnrun.Attention"), 1);
    EXPECT_EQ(plain.Count("Softmax") + plain.Count("ReduceLogSumExp") + plain.Count("Sigmoid"), 0);
    plain.ExpectSameResults(kAttentionTolerance);
    OptimizerTester masked =
        Gated([](GraphBuilder& b, Value* s) { return MaskedWith(b, s, kLowest); }, keeps_axis);
    EXPECT_EQ(masked.Count("attnrun.Attention"), 1);
    masked.Dim("batch", 2).Dim("seq", 3);
    masked.Feed("mask", MakeBool({2, 1, 1, 3}, {1, 0, 1, 0, 0, 0}));
    masked.ExpectSameResults(kAttentionTolerance);
  }
}

// Sinks of more samples than the scores give the result their samples.
TEST(AttentionSinksTest, AGateOfMoreSamplesStays) {
  OptimizerTester test = Gated([](GraphBuilder&, Value* s) { return s; }, true, 3);
  EXPECT_EQ(test.Count("Sigmoid"), 1);
  test.Dim("batch", 1).ExpectSameResults(kAttentionTolerance);
}

// A row of -inf alone comes to NaN with a gate, but to 0 with a sink.
TEST(AttentionSinksTest, AGateOfRowsThatMayBeClosedStays) {
  const OptimizerTester test =
      Gated([](GraphBuilder& b, Value* s) { return MaskedWith(b, s, -kInf); }, true);
  EXPECT_EQ(test.Count("Sigmoid"), 1);
  EXPECT_THAT(test.Misses("softmax_with_sink"), ElementsAre(HasSubstr("come to NaN")));
}

TEST(AttentionSinksTest, OtherQuotientsStay) {
  const auto closed = [](GraphBuilder& b, Value* s) {
    Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
    return b.Op("Where", {mask, s, Number(b, -kInf)});
  };
  const OptimizerTester nan = WithProbabilities([&](GraphBuilder& b, Value* s) {
    s = closed(b, s);
    return Quotient(b, s, Greatest(b, s), nullptr);
  });
  EXPECT_EQ(nan.Count("Softmax") + nan.Count("attnrun.Attention"), 0);
  EXPECT_THAT(nan.Misses("softmax_with_sink"), ElementsAre(HasSubstr("come to NaN")));
  // If all keys are masked, the result is 0 and not NaN.
  OptimizerTester zero = WithProbabilities([&](GraphBuilder& b, Value* s) {
    s = closed(b, s);
    return Quotient(b, s, b.Op("Relu", {Greatest(b, s)}), nullptr);
  });
  EXPECT_EQ(zero.Ops(), "attnrun.Attention");
  zero.Dim("batch", 2).Dim("seq", 3).Feed("mask", MakeBool({2, 1, 1, 3}, {1, 0, 1, 0, 0, 0}));
  zero.ExpectSameResults(kAttentionTolerance);

  const OptimizerTester rises = WithProbabilities([&](GraphBuilder& b, Value* s) {
    return BesideNumber(b, b.Op("Exp", {b.Op("Sub", {s, Greatest(b, s)})}), 1);
  });
  EXPECT_EQ(rises.Count("Softmax") + rises.Count("attnrun.Attention"), 0);
  EXPECT_THAT(rises.Misses("softmax_with_sink"), ElementsAre(HasSubstr("rises with it")));
  const OptimizerTester negative = WithProbabilities(
      [&](GraphBuilder& b, Value* s) { return BesideNumber(b, b.Op("Exp", {s}), -1e-3F); });
  EXPECT_EQ(negative.Count("Softmax") + negative.Count("attnrun.Attention"), 0);
}

// In a row with only the sink the result is 0, whatever the mask value is.
TEST(AttentionSinksTest, FullyMaskedRowsGiveZero) {
  for (const float closed : {-kInf, std::numeric_limits<float>::lowest()}) {
    for (const bool added : {false, true}) {
      OptimizerTester test = WithProbabilities([&](GraphBuilder& b, Value* s) {
        Value* mask = b.Input("mask", DataType::kBool, {"batch", 1, 1, "seq"});
        Value* bias = b.Op("Where", {mask, Number(b, 0), Number(b, closed)});
        s = added ? b.Op("Add", {s, bias}) : b.Op("Where", {mask, s, Number(b, closed)});
        return WithoutLast(b, b.Op("Softmax", {Beside(b, {s, Column(b, s)})}));
      });
      EXPECT_EQ(test.Ops(), "attnrun.Attention");
      test.Dim("batch", 2).Dim("seq", 3);
      test.Feed("mask", MakeBool({2, 1, 1, 3}, {1, 0, 1, 0, 0, 0}));
      test.ExpectSameResults(kAttentionTolerance);
    }
  }
}

// One sink per sample, head and query, as the score of a null token would be.
TEST(AttentionSinksTest, SinksMayDifferByQuery) {
  const OptimizerTester test = WithProbabilities([](GraphBuilder& b, Value* s) {
    Value* sinks = b.Input("sinks", DataType::kFloat, {"batch", 2, "seq", 1});
    return WithoutLast(b, b.Op("Softmax", {Beside(b, {s, sinks})}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(AttentionSinksTest, ProbabilitiesWithoutTheSinkMayBeRead) {
  const OptimizerTester test = WithProbabilities([](GraphBuilder& b, Value* s) {
    Value* p = WithoutLast(b, b.Op("Softmax", {Beside(b, {s, Column(b, s)})}));
    b.Output(p);
    return p;
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(AttentionSinksTest, NearMissesOfSinksAreReported) {
  struct Case {
    Between between;
    const char* why;
  };
  const std::vector<Case> cases = {
      {[](GraphBuilder& b, Value* s) {
         Value* p = b.Op("Softmax", {Beside(b, {s, Column(b, s)})});
         b.Output(p);
         return WithoutLast(b, p);
       },
       "is a graph output"},
      {[](GraphBuilder& b, Value* s) {
         Value* axis = b.Constant<int64_t>("last", {1}, {-1});
         Value* shifted = b.Op("Sub", {s, b.Op("ReduceMax", {s, axis})});
         return WithoutLast(b, b.Op("Softmax", {Beside(b, {shifted, Column(b, s)})}));
       },
       "are relative to the greatest of their row"},
      {[](GraphBuilder& b, Value* s) {
         Value* p = b.Op("Softmax", {Beside(b, {s, Column(b, s)})});
         return Cut(b, p, 1, std::numeric_limits<int64_t>::max());
       },
       "is not cut off behind the Softmax"},
      {[](GraphBuilder& b, Value* s) {
         Value* column = Column(b, s);
         return Cut(b, b.Op("Softmax", {Beside(b, {s, Beside(b, {column, column})})}), 0, -2);
       },
       "which puts them together"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.why);
    const OptimizerTester test = WithProbabilities(c.between);
    EXPECT_EQ(test.Count("attnrun.Attention"), 0);
    EXPECT_THAT(test.Misses("attention"), ElementsAre(HasSubstr(c.why)));
    test.ExpectSameResults(kAttentionTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
