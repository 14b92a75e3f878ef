// SPDX-License-Identifier: Apache-2.0
// Padding, and biases that mask keys.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/graph_parts.h"
#include "support/mask_graph.h"

namespace attnrun::testing {
namespace {

// The bias is added to the mask as a bias, or a Where chooses between the bias and the mask value.
TEST(AttentionMaskTest, ABiasBesideAMaskBecomesAnInput) {
  for (const bool chosen : {false, true}) {
    OptimizerTester test([&](GraphBuilder& b) {
      MaskBuilder m{b};
      Value* table = b.Constant<float>("table", {4}, {0.5F, -1, 2, 0});
      Value* ids = b.Input("ids", DataType::kInt64, {"seq", "keys"});
      Value* bias = b.Op("Gather", {table, ids});
      Value* padding = m.Padding();
      m.Attend(chosen ? b.Op("Where", {padding, bias, m.Float(kLeast)})
                      : b.Op("Add", {bias, m.AsBias(padding, kLeast)}));
    });
    EXPECT_EQ(test.Ops(), "Gather attnrun.Attention");
    ExpectSameAtManySizes(test);
  }
}

// The bias may itself mask keys, and twice the lowest number is another mask value.
TEST(AttentionMaskTest, ASumWithAnUnboundedBiasStays) {
  OptimizerTester test([](GraphBuilder& b) {
    MaskBuilder m{b};
    Value* bias = b.Input("bias", DataType::kFloat, {"seq", "keys"});
    m.Attend(b.Op("Add", {bias, m.AsBias(m.Padding(), kLeast)}));
  });
  EXPECT_EQ(test.Ops(), "Add Where attnrun.Attention");
  ExpectSameAtManySizes(test);
}

TEST(AttentionMaskTest, ABiasOfMaskValuesIsAMask) {
  for (const bool negated : {false, true}) {
    OptimizerTester test([&](GraphBuilder& b) {
      MaskBuilder m{b};
      Value* padding = m.Padding();
      if (negated) {
        Value* closed = b.Op("Or", {b.Op("Greater", {m.Keys(), m.Queries()}), padding});
        m.Attend(b.Op("Where", {closed, m.Float(kLeast), m.Float(0)}));
      } else {
        Value* causal = b.Op("LessOrEqual", {m.Keys(), m.Queries()});
        m.Attend(m.AsBias(b.Op("And", {causal, padding}), kLeast));
      }
    });
    EXPECT_EQ(test.Ops(), negated ? "Not attnrun.Attention" : "attnrun.Attention");
    EXPECT_EQ(Attribute(test, "causal"), 1);
    ExpectSameAtManySizes(test);
  }
}

// Exporters shape the mask before or after the choice, and the optimizer may exchange the two.
TEST(AttentionMaskTest, AViewOfAChoiceIsAChoiceByTheView) {
  for (const bool before : {false, true}) {
    OptimizerTester test([&](GraphBuilder& b) {
      MaskBuilder m{b};
      const auto unsqueeze = [&](Value* x) {
        return b.Op("Unsqueeze", {x, b.Constant<int64_t>("axis", {1}, {1})});
      };
      Value* mask = b.Input("mask", DataType::kBool, {"batch", "seq", "keys"});
      m.Attend(before ? m.AsBias(unsqueeze(mask), kLeast) : unsqueeze(m.AsBias(mask, kLeast)));
    });
    EXPECT_EQ(test.Ops(), "Unsqueeze attnrun.Attention");
    ExpectSameAtManySizes(test);
  }
}

TEST(AttentionMaskTest, TheLowestHalfMasksHalves) {
  constexpr double kLeastHalf = -65504;
  for (const double closed : {kLeastHalf, -1e4}) {
    OptimizerTester test([&](GraphBuilder& b) {
      MaskBuilder m{b, DataType::kFloat16};
      Value* causal = b.Op("LessOrEqual", {m.Keys(), m.Queries()});
      m.Attend(b.Op("Where", {causal, m.Float(0), m.Float(closed)}));
    });
    EXPECT_EQ(Attribute(test, "causal"), closed == kLeastHalf ? 1 : -1);
    // Probabilities are rounded, then the sums.
    test.Dim("keys", 5).Dim("seq", 5).ExpectSameResults(2 * Epsilon(DataType::kFloat16));
  }
}

TEST(AttentionMaskTest, ExpandedBiasesAndMasksAreReadUnexpanded) {
  OptimizerTester test([](GraphBuilder& b) {
    MaskBuilder m{b};
    Value* like =
        b.Op("Concat",
             {b.Op("Shape", {m.q}, {{"end", int64_t{1}}}), b.Constant<int64_t>("one", {1}, {1}),
              b.Op("Shape", {m.q}, {{"start", int64_t{1}}, {"end", int64_t{2}}}),
              b.Op("Shape", {m.k}, {{"start", int64_t{1}}, {"end", int64_t{2}}})},
             {{"axis", int64_t{0}}});
    Value* bias = b.Input("bias", DataType::kFloat, {"batch", 1, 1, "keys"});
    m.Attend(b.Op("Expand", {bias, like}), b.Op("Expand", {m.Padding(), like}),
             {{"mask_value", kLeast}});
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  ExpectSameAtManySizes(test);
}

// The positions of the first `count` queries, as in a mask for a slice of the rows. The position of
// a single query broadcasts to all queries.
Value* FirstQueries(MaskBuilder& m, int64_t count) {
  Value* rows = Sliced(m.b, m.q, 0, count, 1);
  return m.Shaped(m.Count(m.Extent(rows, 1)), {1, 1, -1, 1});
}

TEST(AttentionMaskTest, ThePositionOfOneQueryServesAll) {
  const auto with_first = [](int64_t count) {
    return WithMask([=](MaskBuilder& m) {
      Value* always = m.b.Op("GreaterOrEqual", {FirstQueries(m, count), m.Int(0)});
      return m.b.Op("And", {always, m.Padding()});
    });
  };
  OptimizerTester one = with_first(1);
  EXPECT_EQ(one.Ops(), "attnrun.Attention");
  ExpectSameAtManySizes(one);
  // The positions of two queries broadcast to at most two.
  OptimizerTester two = with_first(2);
  EXPECT_EQ(two.Count("GreaterOrEqual"), 1);
  two.Dim("seq", 2).ExpectSameResults(kMaskTolerance);
}

// This is not a causal mask: every query sees the keys of the first query.
TEST(AttentionMaskTest, KeysUpToTheFirstQueryAreNotCausal) {
  OptimizerTester test = WithMask(
      [](MaskBuilder& m) { return m.b.Op("LessOrEqual", {m.Keys(), FirstQueries(m, 1)}); });
  EXPECT_EQ(Attribute(test, "causal"), -1);
  EXPECT_EQ(test.Count("LessOrEqual"), 1);
  ExpectSameAtManySizes(test);
}

TEST(AttentionMaskTest, GatheredPaddingIsAReshape) {
  for (const bool flat : {false, true}) {
    OptimizerTester test = WithMask([&](MaskBuilder& m) {
      GraphBuilder& b = m.b;
      Value* padding = b.Input("padding", DataType::kBool, {"batch", "keys"});
      Value* samples = m.Shaped(m.Count(m.Extent(m.q, 0)), {-1, 1, 1, 1});
      if (flat) {
        Value* at = b.Op("Add", {b.Op("Mul", {samples, m.Extent(m.k, 1)}), m.Keys()});
        return b.Op("Gather", {m.Shaped(padding, {-1}), at});
      }
      Value* like = b.Op("Shape", {b.Op("Add", {samples, m.Keys()})});
      std::vector<Value*> tuple;
      for (Value* index : {samples, m.Keys()}) {
        Value* axes = b.Constant<int64_t>("axes", {1}, {-1});
        tuple.push_back(b.Op("Unsqueeze", {b.Op("Expand", {index, like}), axes}));
      }
      return b.Op("GatherND", {padding, b.Op("Concat", tuple, {{"axis", int64_t{-1}}})});
    });
    EXPECT_EQ(test.Ops(), "Unsqueeze attnrun.Attention") << flat;
    ExpectSameAtManySizes(test);
  }
}

// The number of windows is (samples - 3) / 2 + 1, which is known not to be negative because the
// convolution succeeds.
TEST(AttentionMaskTest, GatheredPaddingOfWindowsIsAReshape) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 4, "samples"});
    Value* weight = b.Constant<float>("w", {4, 1, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6});
    Value* windows =
        b.Op("Conv", {x, weight}, {{"strides", std::vector<int64_t>{2}}, {"group", int64_t{4}}});
    Value* padding =
        b.Op("Greater", {b.Op("ReduceMean", {windows, b.Constant<int64_t>("axes", {1}, {1})},
                              {{"keepdims", int64_t{0}}}),
                         b.Constant<float>("least", {}, {0})});
    MaskBuilder m{b, DataType::kFloat, windows, windows};
    Value* samples = m.Shaped(m.Count(m.Extent(x, 0)), {-1, 1, 1, 1});
    Value* at =
        b.Op("Add", {b.Op("Mul", {samples, m.Extent(windows, 2)}), m.Count(m.Extent(windows, 2))});
    b.Output(b.Op("Not", {b.Op("Gather", {m.Shaped(padding, {-1}), at})}));
  });
  EXPECT_EQ(test.Count("Gather") + test.Count("Range"), 0);
  for (const int64_t samples : {3, 4, 9}) test.Dim("samples", samples).ExpectSameResults(0);
}

// As with a cache of fixed length whose mask covers all of it.
TEST(AttentionMaskTest, TheStartOfALongerPaddingIsASlice) {
  OptimizerTester test = WithMask([&](MaskBuilder& m) {
    GraphBuilder& b = m.b;
    Value* padding = b.Input("padding", DataType::kBool, {"batch", "total"});
    Value* samples = m.Shaped(m.Count(m.Extent(m.q, 0)), {-1, 1, 1, 1});
    Value* at = b.Op("Add", {b.Op("Mul", {samples, m.Extent(padding, 1)}), m.Keys()});
    Value* gathered = b.Op("Gather", {m.Shaped(padding, {-1}), at});
    return b.Op("And", {b.Op("LessOrEqual", {m.Keys(), m.Queries()}), gathered});
  });
  EXPECT_EQ(test.Count("Gather") + test.Count("Range"), 0);
  EXPECT_EQ(test.Count("Slice"), 1);
  EXPECT_EQ(Attribute(test, "causal"), 1);
  test.Dim("total", 12);
  ExpectSameAtManySizes(test);
}

TEST(AttentionMaskTest, ABiasThatOnlyLowersScoresStaysABias) {
  OptimizerTester test([](GraphBuilder& b) {
    MaskBuilder m{b};
    m.Attend(m.AsBias(m.Padding(), -100));
  });
  EXPECT_EQ(test.Ops(), "Where attnrun.Attention");
  ExpectSameAtManySizes(test);
}

TEST(AttentionMaskTest, TwoDifferentMaskValuesStayTwo) {
  OptimizerTester test([](GraphBuilder& b) {
    MaskBuilder m{b};
    Value* causal = b.Op("LessOrEqual", {m.Keys(), m.Queries()});
    m.Attend(m.AsBias(m.Padding(), kLeast), causal, {{"masked_row", std::string("zero")}});
  });
  EXPECT_EQ(test.Count("Where"), 1);
  EXPECT_EQ(Attribute(test, "causal"), 1);
  ExpectSameAtManySizes(test);
}

}  // namespace
}  // namespace attnrun::testing
