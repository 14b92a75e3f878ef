#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/elements.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

constexpr float kLeast = std::numeric_limits<float>::lowest();
// Scores of 4 products, exponentials of them, sums over at most 12 keys.
constexpr double kTolerance = 96 * kEpsilon;

// Queries [batch, seq, 8] and keys [batch, keys, 8] of two heads, and where they stand.
struct MaskBuilder {
  GraphBuilder& b;
  DataType type = DataType::kFloat;
  Value* q = b.Input("q", type, {"batch", "seq", 8});
  Value* k = b.Input("k", type, {"batch", "keys", 8});

  Value* Int(int64_t number) { return b.Constant<int64_t>("n", {}, {number}); }
  Value* Float(double number) { return b.Constant("c", FromDoubles(type, {}, {number}).value()); }
  Value* Shaped(Value* x, std::initializer_list<int64_t> shape) {
    const auto rank = static_cast<int64_t>(shape.size());
    return b.Op("Reshape", {x, b.Constant<int64_t>("shape", {rank}, shape)});
  }
  Value* Extent(Value* x, int64_t axis) {
    Value* extent = b.Op("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
    return b.Op("Squeeze", {extent, b.Constant<int64_t>("axes", {1}, {0})});
  }
  Value* Count(Value* extent) { return b.Op("Range", {Int(0), extent, Int(1)}); }
  // Positions of the keys [1, 1, 1, T] and of the queries [1, 1, S, 1].
  Value* Keys() { return Shaped(Count(Extent(k, 1)), {1, 1, 1, -1}); }
  Value* Queries() { return Shaped(Count(Extent(q, 1)), {1, 1, -1, 1}); }
  // [S, T] of one number.
  template <typename T>
  Value* Ones() {
    Value* shape = b.Op("Concat",
                        {b.Op("Shape", {q}, {{"start", int64_t{1}}, {"end", int64_t{2}}}),
                         b.Op("Shape", {k}, {{"start", int64_t{1}}, {"end", int64_t{2}}})},
                        {{"axis", int64_t{0}}});
    return b.Op("ConstantOfShape", {shape}, {{"value", *Tensor::Of<T>({1}, {T{1}})}});
  }
  Value* Padding() { return b.Input("padding", DataType::kBool, {"batch", 1, 1, "keys"}); }

  Value* AsBias(Value* mask, float closed) {
    return b.Op("Where", {mask, Float(0), Float(closed)});
  }
  void Attend(Value* bias, Value* mask = nullptr, AttributeMap attributes = {}) {
    for (const char* layout : {"q_layout", "k_layout", "v_layout"}) {
      attributes[layout] = std::string("b s (n:2 h:4)");
    }
    std::vector<Value*> inputs = {q, k, k};
    if (bias != nullptr || mask != nullptr) inputs.push_back(bias);
    if (mask != nullptr) inputs.push_back(mask);
    b.Output(b.Op("attnrun::Attention", inputs, attributes));
  }
};

using Mask = std::function<Value*(MaskBuilder&)>;

OptimizerTester WithMask(const Mask& mask) {
  return OptimizerTester([&](GraphBuilder& b) {
    MaskBuilder builder{b};
    builder.Attend(nullptr, mask(builder), {{"mask_value", kLeast}});
  });
}

// The number of an attribute of the one attention; -1 if it is left out.
int64_t Attribute(const OptimizerTester& test, const std::string& name) {
  for (const Node* node : test.graph().nodes()) {
    if (node->op_type() != "Attention") continue;
    const AttributeValue* value = node->attribute(name);
    return value == nullptr ? -1 : std::get<int64_t>(*value);
  }
  return -2;
}

void ExpectSameAtManySizes(OptimizerTester& test) {
  for (const int64_t keys : {1, 3, 12}) {
    for (const int64_t queries : {1, 3, 5}) {
      SCOPED_TRACE(keys * 100 + queries);
      test.Dim("keys", keys).Dim("seq", queries).ExpectSameResults(kTolerance);
    }
  }
}

TEST(AttentionMaskTest, ComparisonsOfPositionsAreCausal) {
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
    EXPECT_EQ(test.Ops(), "attnrun.Attention");
    EXPECT_EQ(Attribute(test, "causal"), 1);
    ExpectSameAtManySizes(test);
  }
}

TEST(AttentionMaskTest, TablesOfATriangleAreCausal) {
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
  for (const OptimizerTester* test : {&lower, &upper, &other}) test->ExpectSameResults(kTolerance);
}

// What closes is added, as nn.Transformer's and Meta's Llama's masks are.
TEST(AttentionMaskTest, TrianglesOfNumbersThatCloseAreCausal) {
  for (const float closed : {-std::numeric_limits<float>::infinity(), kLeast, -100.0F}) {
    SCOPED_TRACE(closed);
    OptimizerTester test([&](GraphBuilder& b) {
      MaskBuilder m{b};
      Value* full = b.Op("Expand", {m.Float(closed), b.Op("Shape", {m.Ones<float>()})});
      m.Attend(b.Op("Trilu", {full, m.Int(1)}));
    });
    EXPECT_EQ(Attribute(test, "causal"), closed < -1000 ? 1 : -1);
    EXPECT_EQ(test.Count("Trilu"), closed < -1000 ? 0 : 1);
    test.Dim("seq", 4).Dim("keys", 4).ExpectSameResults(kTolerance);
  }
}

TEST(AttentionMaskTest, QueriesBehindAPastAreAtTheEnd) {
  OptimizerTester test = WithMask([](MaskBuilder& m) {
    Value* past = m.b.Op("Sub", {m.Extent(m.k, 1), m.Extent(m.q, 1)});
    Value* causal = m.b.Op("LessOrEqual", {m.Keys(), m.b.Op("Add", {m.Queries(), past})});
    Value* least = m.b.Op("Add", {m.Queries(), m.b.Op("Sub", {past, m.Int(4)})});
    return m.b.Op("And", {causal, m.b.Op("Greater", {m.Keys(), least})});
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  EXPECT_EQ(Attribute(test, "causal"), 2);
  EXPECT_EQ(Attribute(test, "left_window"), 3);
  ExpectSameAtManySizes(test);
}

TEST(AttentionMaskTest, WindowsOnBothSides) {
  OptimizerTester test = WithMask([](MaskBuilder& m) {
    Value* right = m.b.Op("Less", {m.b.Op("Sub", {m.Keys(), m.Queries()}), m.Int(3)});
    Value* left = m.b.Op("Less", {m.b.Op("Sub", {m.Queries(), m.Keys()}), m.Int(2)});
    return m.b.Op("And", {left, right});
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  EXPECT_EQ(Attribute(test, "left_window"), 1);
  EXPECT_EQ(Attribute(test, "right_window"), 2);
  ExpectSameAtManySizes(test);
}

TEST(AttentionMaskTest, AWindowByDistance) {
  OptimizerTester test = WithMask([](MaskBuilder& m) {
    Value* distance = m.b.Op("Abs", {m.b.Op("Sub", {m.Queries(), m.Keys()})});
    return m.b.Op("LessOrEqual", {distance, m.Int(2)});
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  EXPECT_EQ(Attribute(test, "left_window"), 2);
  EXPECT_EQ(Attribute(test, "right_window"), 2);
  ExpectSameAtManySizes(test);
}

// Of a table's numbers, or chosen between them and closing.
TEST(AttentionMaskTest, ABiasBesideAMaskIsOneOfItsOwn) {
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

// Its numbers may close keys, too, and twice the least number is another one.
TEST(AttentionMaskTest, ASumWithNumbersOfAnySizeStays) {
  OptimizerTester test([](GraphBuilder& b) {
    MaskBuilder m{b};
    Value* bias = b.Input("bias", DataType::kFloat, {"seq", "keys"});
    m.Attend(b.Op("Add", {bias, m.AsBias(m.Padding(), kLeast)}));
  });
  EXPECT_EQ(test.Ops(), "Add Where attnrun.Attention");
  ExpectSameAtManySizes(test);
}

TEST(AttentionMaskTest, ABiasThatClosesIsAMask) {
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

TEST(AttentionMaskTest, TheLeastHalfClosesHalves) {
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

TEST(AttentionMaskTest, WhatIsOnlyBroadcastIsReadAsItIs) {
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

// The rows of windows are (samples - 3) / 2 + 1, which is not negative as there are such windows.
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

// As with a cache of fixed length, of which the mask tells all.
TEST(AttentionMaskTest, TheFirstOfALongerPaddingAreASlice) {
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

// What must stay as it is: more than one node beside the attention, and no attribute.
TEST(AttentionMaskTest, WhatIsNoRuleOfPositionsStays) {
  const std::vector<Mask> others = {
      // Strictly before the query.
      [](MaskBuilder& m) { return m.b.Op("Less", {m.Keys(), m.Queries()}); },
      // A triangle that begins elsewhere.
      [](MaskBuilder& m) {
        Value* below = m.b.Op("Trilu", {m.Ones<bool>(), m.Int(-1)}, {{"upper", int64_t{0}}});
        return m.b.Op("Or", {below, m.b.Op("Less", {m.Keys(), m.Int(1)})});
      },
      // Every second key.
      [](MaskBuilder& m) {
        return m.b.Op("LessOrEqual", {m.b.Op("Mul", {m.Keys(), m.Int(2)}), m.Queries()});
      },
      // Positions that the caller tells.
      [](MaskBuilder& m) {
        Value* positions = m.b.Input("positions", DataType::kInt64, {1, 1, "seq", 1});
        return m.b.Op("LessOrEqual", {m.Keys(), positions});
      },
      // Another number of keys before the first query.
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

TEST(AttentionMaskTest, ABiasThatOnlyLowersScoresStaysOne) {
  OptimizerTester test([](GraphBuilder& b) {
    MaskBuilder m{b};
    m.Attend(m.AsBias(m.Padding(), -100));
  });
  EXPECT_EQ(test.Ops(), "Where attnrun.Attention");
  ExpectSameAtManySizes(test);
}

TEST(AttentionMaskTest, TwoWaysToCloseStayTwo) {
  OptimizerTester test([](GraphBuilder& b) {
    MaskBuilder m{b};
    Value* causal = b.Op("LessOrEqual", {m.Keys(), m.Queries()});
    m.Attend(m.AsBias(m.Padding(), kLeast), causal, {{"masked_row", std::string("zero")}});
  });
  EXPECT_EQ(test.Count("Where"), 1);
  EXPECT_EQ(Attribute(test, "causal"), 1);
  ExpectSameAtManySizes(test);
}

// A mask of other extents than the scores' might broadcast them.
TEST(AttentionMaskTest, ExtentsThatMayDifferAreLeftAlone) {
  OptimizerTester test = WithMask([](MaskBuilder& m) {
    Value* other = m.b.Input("other", DataType::kFloat, {"others"});
    Value* keys = m.Shaped(m.Count(m.Extent(other, 0)), {1, 1, 1, -1});
    return m.b.Op("LessOrEqual", {keys, m.Queries()});
  });
  EXPECT_EQ(Attribute(test, "causal"), -1);
  test.Dim("others", 4).Dim("keys", 4).ExpectSameResults(kTolerance);
}

}  // namespace
}  // namespace attnrun::testing
