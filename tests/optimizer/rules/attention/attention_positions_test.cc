// SPDX-License-Identifier: Apache-2.0
// Masks that follow from the positions of keys and queries.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/mask_graph.h"

namespace attnrun::testing {
namespace {

// Expects a single attention with these attributes in place of the mask.
void ExpectRules(OptimizerTester& test,
                 const std::vector<std::pair<std::string, int64_t>>& attributes) {
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  for (const auto& [name, number] : attributes) EXPECT_EQ(Attribute(test, name), number) << name;
  ExpectSameAtManySizes(test);
}

TEST(AttentionPositionsTest, ComparisonsOfPositionsAreCausal) {
  const std::vector<Mask> spellings = {
      [](MaskBuilder& m) { return m.b.Op("LessOrEqual", {m.Keys(), m.Queries()}); },
      [](MaskBuilder& m) { return m.b.Op("GreaterOrEqual", {m.Queries(), m.Keys()}); },
      [](MaskBuilder& m) { return m.b.Op("Not", {m.b.Op("Greater", {m.Keys(), m.Queries()})}); },
      [](MaskBuilder& m) {
        return m.b.Op("Less", {m.Keys(), m.b.Op("Add", {m.Queries(), m.Int(1)})});
      },
      [](MaskBuilder& m) {
        Value* distance = m.b.Op("Sub", {m.Queries(), m.Keys()});
        return m.b.Op("GreaterOrEqual", {distance, m.Int(0)});
      },
      [](MaskBuilder& m) {
        Value* causal = m.b.Op("LessOrEqual", {m.Keys(), m.Queries()});
        return m.b.Op("And", {m.b.Op("GreaterOrEqual", {m.Queries(), m.Int(0)}), causal});
      },
      [](MaskBuilder& m) {
        Value* triangle = m.b.Op("Trilu", {m.Ones<bool>()}, {{"upper", int64_t{0}}});
        return m.b.Op("Unsqueeze", {triangle, m.b.Constant<int64_t>("axes", {2}, {0, 1})});
      },
      [](MaskBuilder& m) {
        Value* triangle = m.b.Op("Trilu", {m.Ones<float>()}, {{"upper", int64_t{0}}});
        return m.b.Op("Not", {m.b.Op("Equal", {triangle, m.Float(0)})});
      },
      [](MaskBuilder& m) {
        Value* above = m.b.Op("Trilu", {m.Ones<float>(), m.Int(1)});
        return m.b.Op("Not", {m.b.Op("Cast", {above}, {{"to", int64_t{9}}})});
      }};
  for (size_t i = 0; i < spellings.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithMask(spellings[i]);
    ExpectRules(test, {{"causal", 1}});
  }
}

TEST(AttentionPositionsTest, TablesOfATriangleAreCausal) {
  const auto with_table = [](std::initializer_list<float> table, bool negated) {
    return OptimizerTester([&](GraphBuilder& b) {
      const auto heads = [&](const char* name) {
        return b.Input(name, DataType::kFloat, {"batch", 2, 3, 4});
      };
      Value* mask = b.Constant<float>("table", {1, 1, 4, 4}, table);
      mask = b.Op("Slice", {mask, b.Constant<int64_t>("first", {2}, {0, 0}),
                            b.Constant<int64_t>("end", {2}, {3, 3}),
                            b.Constant<int64_t>("axes", {2}, {2, 3})});
      mask = b.Op("Cast", {mask}, {{"to", static_cast<int64_t>(DataType::kBool)}});
      if (negated) mask = b.Op("Not", {mask});
      b.Output(b.Op("attnrun::Attention", {heads("q"), heads("k"), heads("v"), nullptr, mask},
                    {{"mask_value", kLeast}}));
    });
  };
  const OptimizerTester lower = with_table({2, 0, 0, 0, 2, 2, 0, 0, 2, 2, 2, 0, 2, 2, 2, 2}, false);
  const OptimizerTester upper = with_table({0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0}, true);
  const OptimizerTester other = with_table({1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1}, false);
  EXPECT_EQ(Attribute(lower, "causal"), 1);
  EXPECT_EQ(Attribute(upper, "causal"), 1);
  EXPECT_EQ(Attribute(other, "causal"), -1);
  for (const OptimizerTester* test : {&lower, &upper, &other})
    test->ExpectSameResults(kMaskTolerance);
}

// The mask is added, as in nn.Transformer and Meta's Llama.
TEST(AttentionPositionsTest, TrianglesOfMaskValuesAreCausal) {
  for (const float closed : {-std::numeric_limits<float>::infinity(), kLeast, -100.0F}) {
    SCOPED_TRACE(closed);
    OptimizerTester test([&](GraphBuilder& b) {
      MaskBuilder m{b};
      Value* full = b.Op("Expand", {m.Float(closed), b.Op("Shape", {m.Ones<float>()})});
      m.Attend(b.Op("Trilu", {full, m.Int(1)}));
    });
    EXPECT_EQ(Attribute(test, "causal"), closed < -1000 ? 1 : -1);
    EXPECT_EQ(test.Count("Trilu"), closed < -1000 ? 0 : 1);
    test.Dim("seq", 4).Dim("keys", 4).ExpectSameResults(kMaskTolerance);
  }
}

TEST(AttentionPositionsTest, QueriesAfterAPastAreAlignedToTheEnd) {
  OptimizerTester test = WithMask([](MaskBuilder& m) {
    Value* past = m.b.Op("Sub", {m.Extent(m.k, 1), m.Extent(m.q, 1)});
    Value* causal = m.b.Op("LessOrEqual", {m.Keys(), m.b.Op("Add", {m.Queries(), past})});
    Value* least = m.b.Op("Add", {m.Queries(), m.b.Op("Sub", {past, m.Int(4)})});
    return m.b.Op("And", {causal, m.b.Op("Greater", {m.Keys(), least})});
  });
  ExpectRules(test, {{"causal", 2}, {"left_window", 3}});
}

TEST(AttentionPositionsTest, WindowsMayHaveTwoSides) {
  OptimizerTester test = WithMask([](MaskBuilder& m) {
    Value* right = m.b.Op("Less", {m.b.Op("Sub", {m.Keys(), m.Queries()}), m.Int(3)});
    Value* left = m.b.Op("Less", {m.b.Op("Sub", {m.Queries(), m.Keys()}), m.Int(2)});
    return m.b.Op("And", {left, right});
  });
  ExpectRules(test, {{"left_window", 1}, {"right_window", 2}});
}

TEST(AttentionPositionsTest, AWindowMayBeSpelledAsADistance) {
  OptimizerTester test = WithMask([](MaskBuilder& m) {
    Value* distance = m.b.Op("Abs", {m.b.Op("Sub", {m.Queries(), m.Keys()})});
    return m.b.Op("LessOrEqual", {distance, m.Int(2)});
  });
  ExpectRules(test, {{"left_window", 2}, {"right_window", 2}});
}

// These masks must stay nodes: the attention gets no attribute for them.
TEST(AttentionPositionsTest, OtherMasksStay) {
  const std::vector<Mask> others = {
      // Strictly before the query.
      [](MaskBuilder& m) { return m.b.Op("Less", {m.Keys(), m.Queries()}); },
      // A triangle that begins at another diagonal.
      [](MaskBuilder& m) {
        Value* below = m.b.Op("Trilu", {m.Ones<bool>(), m.Int(-1)}, {{"upper", int64_t{0}}});
        return m.b.Op("Or", {below, m.b.Op("Less", {m.Keys(), m.Int(1)})});
      },
      // Every second key.
      [](MaskBuilder& m) {
        return m.b.Op("LessOrEqual", {m.b.Op("Mul", {m.Keys(), m.Int(2)}), m.Queries()});
      },
      // Positions that the caller passes.
      [](MaskBuilder& m) {
        Value* positions = m.b.Input("positions", DataType::kInt64, {1, 1, "seq", 1});
        return m.b.Op("LessOrEqual", {m.Keys(), positions});
      },
      // A different number of keys before the first query.
      [](MaskBuilder& m) {
        Value* shift = m.b.Op("Mul", {m.Extent(m.q, 1), m.Int(2)});
        return m.b.Op("LessOrEqual", {m.Keys(), m.b.Op("Add", {m.Queries(), shift})});
      }};
  for (size_t i = 0; i < others.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithMask(others[i]);
    EXPECT_EQ(Attribute(test, "causal"), -1);
    EXPECT_GE(test.Count("Less") + test.Count("LessOrEqual"), 1);
    ExpectSameAtManySizes(test);
  }
}

// A mask whose extents differ from those of the scores might broadcast them.
TEST(AttentionPositionsTest, ExtentsThatMayDifferAreLeftAlone) {
  OptimizerTester test = WithMask([](MaskBuilder& m) {
    Value* other = m.b.Input("other", DataType::kFloat, {"others"});
    Value* keys = m.Shaped(m.Count(m.Extent(other, 0)), {1, 1, 1, -1});
    return m.b.Op("LessOrEqual", {keys, m.Queries()});
  });
  EXPECT_EQ(Attribute(test, "causal"), -1);
  test.Dim("others", 4).Dim("keys", 4).ExpectSameResults(kMaskTolerance);
}

}  // namespace
}  // namespace attnrun::testing
