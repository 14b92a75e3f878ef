// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kKeys = -1;
constexpr int64_t kQueries = -2;

Value* Joined(GraphBuilder& b, const std::vector<Value*>& parts, int64_t axis) {
  return b.Op("Concat", parts, {{"axis", axis}});
}

Value* Added(GraphBuilder& b, Value* x, Value* y) { return b.Op("Add", {x, y}); }

Value* HeadsOf(GraphBuilder& b, const std::string& name, std::initializer_list<DimSpec> axes) {
  return b.Input(name, DataType::kFloat, axes);
}

// The attention of queries q to some keys and to 5 more, with values of each.
struct Blocks {
  GraphBuilder& b;
  Value* q = HeadsOf(b, "q", {"batch", 2, "seq", 4});
  Value* k1 = HeadsOf(b, "k1", {"batch", 2, 4, 6});
  Value* k2 = HeadsOf(b, "k2", {"batch", 2, 4, 5});
  Value* v1 = HeadsOf(b, "v1", {"batch", 2, 6, 4});
  Value* v2 = HeadsOf(b, "v2", {"batch", 2, 5, 4});

  std::vector<Value*> Scores() const { return {b.Op("MatMul", {q, k1}), b.Op("MatMul", {q, k2})}; }
  std::vector<Value*> Results(Value* p) const {
    return {b.Op("MatMul", {Sliced(b, p, 0, 6, 3), v1}),
            b.Op("MatMul", {Sliced(b, p, 6, 11, 3), v2})};
  }
};

void ExpectFused(OptimizerTester test) {
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(kAttentionTolerance);
  test.Dim("batch", 2).Dim("seq", 1).ExpectSameResults(kAttentionTolerance);
}

TEST(JoinedKeysTest, PartsOfTheScoresBecomeOneProduct) {
  ExpectFused(OptimizerTester([](GraphBuilder& b) {
    const Blocks blocks{b};
    const std::vector<Value*> results =
        blocks.Results(b.Op("Softmax", {Joined(b, blocks.Scores(), kKeys)}));
    b.Output(Added(b, results[1], results[0]));
  }));
}

// The numbers of keys vary; some keys and values are learned.
TEST(JoinedKeysTest, PartsMayHaveAnyNumberOfKeys) {
  ExpectFused(OptimizerTester([](GraphBuilder& b) {
    Value* q = HeadsOf(b, "q", {"batch", 2, "seq", 4});
    Value* k1 = HeadsOf(b, "k1", {"batch", 2, 4, "t"});
    Value* k3 = HeadsOf(b, "k3", {"batch", 2, 4, "u"});
    std::mt19937 generator(7);
    Value* k2 = b.Constant("k2", RandomFloats({2, 4, 5}, generator));
    Value* v2 = b.Constant("v2", RandomFloats({2, 5, 4}, generator));
    const auto scores = [&](Value* k) { return b.Op("MatMul", {q, k}); };
    Value* p = b.Op("Softmax", {Joined(b, {scores(k1), scores(k2), scores(k3)}, kKeys)});
    Value* t = b.Op("Shape", {k1}, {{"start", int64_t{3}}, {"end", int64_t{4}}});
    Value* end = b.Op("Add", {t, Vector(b, {5})});
    const auto part = [&](Value* from, Value* to, Value* v) {
      return b.Op("MatMul", {b.Op("Slice", {p, from, to, Vector(b, {3})}), v});
    };
    Value* y =
        Added(b, part(t, end, v2), part(Vector(b, {0}), t, HeadsOf(b, "v1", {"batch", 2, "t", 4})));
    b.Output(
        Added(b, y, part(end, Vector(b, {INT64_MAX}), HeadsOf(b, "v3", {"batch", 2, "u", 4}))));
  }));
}

TEST(JoinedKeysTest, PartsMayHaveScalesAndBiases) {
  ExpectFused(OptimizerTester([](GraphBuilder& b) {
    const Blocks blocks{b};
    std::vector<Value*> scores = blocks.Scores();
    scores[0] =
        Added(b, b.Op("Div", {scores[0], Number(b, 2)}), HeadsOf(b, "m", {"batch", 1, 1, 6}));
    scores[1] = b.Op("Mul", {scores[1], Number(b, 0.25F)});
    const std::vector<Value*> results = blocks.Results(b.Op("Softmax", {Joined(b, scores, kKeys)}));
    b.Output(Added(b, results[0], results[1]));
  }));
}

// All blocks see the same global keys, whose products are written without the axis of blocks.
TEST(JoinedKeysTest, GlobalKeysAreRepeatedForEachBlock) {
  ExpectFused(OptimizerTester([](GraphBuilder& b) {
    Value* q = Transposed(b, HeadsOf(b, "q", {"batch", "seq", 3, 2, 4}), {0, 3, 1, 2, 4});
    Value* rows = Shaped(b, q, {0, 2, -1, 4});
    Value* global = b.Op("MatMul", {rows, HeadsOf(b, "k1", {"batch", 2, 4, 5})});
    global = Shaped(b, global, {0, 2, -1, 3, 5});
    Value* local = b.Op("MatMul", {q, HeadsOf(b, "k2", {"batch", 2, "seq", 4, 6})});
    Value* p = b.Op("Softmax", {Joined(b, {global, local}, kKeys)});
    Value* of_global = Shaped(b, Sliced(b, p, 0, 5, 4), {0, 2, -1, 5});
    of_global = b.Op("MatMul", {of_global, HeadsOf(b, "v1", {"batch", 2, 5, 4})});
    Value* of_local =
        b.Op("MatMul", {Sliced(b, p, 5, 11, 4), HeadsOf(b, "v2", {"batch", 2, "seq", 6, 4})});
    b.Output(Added(b, Shaped(b, of_global, {0, 2, -1, 3, 4}), of_local));
  }));
}

// LUKE has other queries for the keys of words than for those of entities.
TEST(JoinedKeysTest, PartsMayHaveQueriesOfTheirOwn) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* keys[] = {HeadsOf(b, "k1", {"batch", 2, 4, 6}), HeadsOf(b, "k2", {"batch", 2, 4, 5})};
    std::vector<Value*> rows;
    for (const std::string from : {"w", "e"}) {
      std::vector<Value*> parts;
      for (const int to : {0, 1}) {
        const std::string name = from + std::to_string(to);
        Value* q = HeadsOf(b, name, {"batch", 2, from == "w" ? 6 : 5, 4});
        parts.push_back(b.Op("MatMul", {q, keys[to]}));
      }
      rows.push_back(Joined(b, parts, kKeys));
    }
    Value* scores = b.Op("Div", {Joined(b, rows, kQueries), Number(b, 2)});
    Value* v = HeadsOf(b, "v", {"batch", 2, 11, 4});
    b.Output(b.Op("MatMul", {b.Op("Softmax", {scores}), v}));
  });
  ExpectFused(std::move(test));
}

TEST(JoinedKeysTest, LeavesOtherParts) {
  const auto ends = [](GraphBuilder& b, Value* scores) {
    Value* v = HeadsOf(b, "v", {"batch", 2, "keys", 4});
    b.Output(b.Op("MatMul", {b.Op("Softmax", {scores}), v}));
  };
  // Three kinds of queries would compute three times as much.
  OptimizerTester three([&](GraphBuilder& b) {
    std::vector<Value*> parts;
    Value* k = HeadsOf(b, "k", {"batch", 2, 4, "part"});
    for (const char* name : {"a", "c", "d"}) {
      parts.push_back(b.Op("MatMul", {HeadsOf(b, name, {"batch", 2, "seq", 4}), k}));
    }
    ends(b, Joined(b, parts, kKeys));
  });
  // One query and many cached keys.
  OptimizerTester one([&](GraphBuilder& b) {
    Value* q = HeadsOf(b, "q", {"batch", 2, 1, 4});
    ends(b, Joined(b,
                   {b.Op("MatMul", {q, HeadsOf(b, "k1", {"batch", 2, 4, "past"})}),
                    b.Op("MatMul", {q, HeadsOf(b, "k2", {"batch", 2, 4, 1})})},
                   kKeys));
  });
  for (OptimizerTester* test : {&three, &one}) {
    EXPECT_EQ(test->Count("attnrun.Attention"), 0);
    EXPECT_EQ(test->Count("Concat"), 1);
  }
  one.Dim("past", 6).Dim("keys", 7).ExpectSameResults(kAttentionTolerance);
}

// Each key must have its values, once.
TEST(JoinedKeysTest, LeavesProductsWithOtherKeys) {
  for (const int64_t first : {0, 1}) {
    OptimizerTester test([&](GraphBuilder& b) {
      const Blocks blocks{b};
      Value* p = b.Op("Softmax", {Joined(b, blocks.Scores(), kKeys)});
      Value* v = HeadsOf(b, "v", {"batch", 2, 5, 4});
      b.Output(Added(b, b.Op("MatMul", {Sliced(b, p, first, first + 6, 3), blocks.v1}),
                     b.Op("MatMul", {Sliced(b, p, first, first + 5, 3), v})));
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 0);
    EXPECT_EQ(test.Count("MatMul"), 3);
    test.ExpectSameResults(kAttentionTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
