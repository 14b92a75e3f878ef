// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

// Numbers from `start` on, as a constant of this shape.
Value* Count(GraphBuilder& b, int64_t start, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), start);
  return b.Constant("count", Make<int64_t>(shape, numbers));
}

// The scores of 5 queries and 7 keys, and the rest of the attention.
OptimizerTester WithRegion(const Between& between) {
  return OptimizerTester([&](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"batch", 2, 5, 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, 4, 7});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 2, 7, 4});
    Value* p = b.Op("Softmax", {between(b, b.Op("MatMul", {q, k}))});
    b.Output(b.Op("MatMul", {p, v}));
  });
}

// Writes to the places of x[:, :, start:, start:], with the full index of each element, as
// TorchScript does.
Value* WrittenByTuples(GraphBuilder& b, Value* x, int64_t start, Value* updates) {
  Value* batch = b.Op("Shape", {x}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  Value* range =
      b.Op("Range", {Scalar(b, 0), b.Op("Squeeze", {batch, Vector(b, {0})}), Scalar(b, 1)});
  Value* like =
      b.Op("Concat", {batch, Vector(b, {2, 5 - start, 7 - start})}, {{"axis", int64_t{0}}});
  std::vector<Value*> tuple = {Shaped(b, range, {-1, 1, 1, 1}), Count(b, 0, {2, 1, 1}),
                               Count(b, start, {5 - start, 1}), Count(b, start, {7 - start})};
  for (Value*& index : tuple) {
    index = b.Op("Unsqueeze", {b.Op("Expand", {index, like}), Vector(b, {-1})});
  }
  Value* indices = b.Op("Concat", tuple, {{"axis", int64_t{-1}}});
  return b.Op("ScatterND", {x, indices, updates});
}

// The same, axis by axis, as dynamo's exporter does.
Value* WrittenByAxes(GraphBuilder& b, Value* x, Value* updates) {
  Value* rows = Sliced(b, x, 1, 5, 2);
  Value* inner = b.Op("ScatterND", {Transposed(b, rows, {3, 1, 2, 0}), Count(b, 1, {6, 1}),
                                    Transposed(b, updates, {3, 1, 2, 0})});
  Value* outer = b.Op("ScatterND", {Transposed(b, x, {2, 1, 0, 3}), Count(b, 1, {4, 1}),
                                    Transposed(b, inner, {2, 1, 3, 0})});
  return Transposed(b, outer, {2, 1, 0, 3});
}

Value* Region(GraphBuilder& b, Value* x) { return Sliced(b, Sliced(b, x, 1, 5, 2), 1, 7, 3); }

// The biases of rows and of columns of an image, as MViT has them.
Value* Decomposed(GraphBuilder& b, Value* x) {
  x = Shaped(b, x, {0, 2, 2, 2, 2, 3});
  x = b.Op("Add", {x, b.Input("rows", DataType::kFloat, {"batch", 2, 2, 2, 2, 1})});
  x = b.Op("Sub", {x, b.Input("columns", DataType::kFloat, {2, 2, 1, 3})});
  return Shaped(b, x, {0, 2, 4, 6});
}

Value* OneBias(GraphBuilder& b, Value* x) {
  return b.Op("Add", {b.Input("bias", DataType::kFloat, {4, 1}), x});
}

void ExpectFused(OptimizerTester test) {
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("ScatterND") + test.Count("Softmax"), 0);
  test.ExpectSameResults(kAttentionTolerance);
  test.Dim("batch", 1).ExpectSameResults(kAttentionTolerance);
}

TEST(RegionSumsTest, ABiasOfAPartGetsZerosAround) {
  for (const auto& sum : {Decomposed, OneBias}) {
    ExpectFused(WithRegion(
        [&](GraphBuilder& b, Value* s) { return WrittenByTuples(b, s, 1, sum(b, Region(b, s))); }));
    ExpectFused(WithRegion(
        [&](GraphBuilder& b, Value* s) { return WrittenByAxes(b, s, sum(b, Region(b, s))); }));
  }
}

TEST(RegionSumsTest, ScoresMayBeScaledBefore) {
  ExpectFused(WithRegion([](GraphBuilder& b, Value* s) {
    s = b.Op("Div", {s, Number(b, 2)});
    return b.Op("Add", {WrittenByAxes(b, s, OneBias(b, Region(b, s))),
                        b.Input("mask", DataType::kFloat, {"batch", 1, 1, 7})});
  }));
}

TEST(RegionSumsTest, APartMayBeMasked) {
  ExpectFused(WithRegion([](GraphBuilder& b, Value* s) {
    Value* low = b.Op("Expand", {Number(b, -INFINITY), b.Op("Shape", {Region(b, s)})});
    return WrittenByAxes(b, s, low);
  }));
}

// The sum must go where its scores come from, and be all that is written.
TEST(RegionSumsTest, LeavesOtherAssignments) {
  const std::vector<Between> others = {
      [](GraphBuilder& b, Value* s) {
        Value* elsewhere = Sliced(b, Sliced(b, s, 0, 4, 2), 1, 7, 3);
        return WrittenByTuples(b, s, 1, OneBias(b, elsewhere));
      },
      [](GraphBuilder& b, Value* s) {
        return WrittenByTuples(b, s, 1, b.Input("new", DataType::kFloat, {"batch", 2, 4, 6}));
      },
      [](GraphBuilder& b, Value* s) {
        return WrittenByTuples(b, s, 1, b.Op("Abs", {OneBias(b, Region(b, s))}));
      },
      // A part of the sums is written.
      [](GraphBuilder& b, Value* s) {
        Value* bias = b.Input("bias", DataType::kFloat, {5, 7});
        return WrittenByTuples(b, s, 1, Region(b, b.Op("Add", {s, bias})));
      }};
  for (size_t i = 0; i < others.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test = WithRegion(others[i]);
    EXPECT_EQ(test.Count("ScatterND"), 1);
    test.ExpectSameResults(kAttentionTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
