// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "optimizer/analysis/trace.h"
#include "optimizer/rules/views/moves.h"
#include "support/any_type.h"
#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// The cost of a graph that each move lowers: how far from the outputs each node stands that reads
// views, once for each of them, the farthest first; then the number of views that are read. A move
// replaces one of these distances by lower ones, or leaves them and takes views away, so that moves
// cannot go on for ever.
struct Cost {
  std::vector<int> distances;
  int views = 0;

  friend bool operator<(const Cost& a, const Cost& b) {
    return std::pair(a.distances, a.views) < std::pair(b.distances, b.views);
  }
};

Cost CostOf(const Graph& graph) {
  Cost cost;
  std::map<const Node*, int> distance;
  const std::vector<Node*> order = graph.TopologicalOrder().value();
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Node& node = **at;
    int& own = distance[&node];
    bool is_read = false;
    for (const Value* output : node.outputs()) {
      if (output == nullptr) continue;
      is_read = is_read || graph.IsOutput(output) || !output->consumers().empty();
      for (const Node* reader : output->consumers()) own = std::max(own, distance[reader]);
    }
    const bool is_view = opt::MovesElements(node);
    if (is_view && is_read) ++cost.views;
    if (is_view) continue;
    ++own;
    cost.distances.insert(cost.distances.end(), opt::ViewsAbove(node), own);
  }
  std::sort(cost.distances.rbegin(), cost.distances.rend());
  return cost;
}

Value* Weight(GraphBuilder& b, int64_t rows, int64_t columns) {
  std::mt19937 generator(7);
  return b.Constant("w", RandomFloats({rows, columns}, generator));
}

Value* Relu(GraphBuilder& b, Value* x) { return b.Op("Relu", {x}); }

// A chain of products, sums and functions behind two views, parts that are viewed alike, and a
// mean.
void Build(GraphBuilder& b) {
  Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 8});
  Value* y = b.Input("y", DataType::kFloat, {"batch", "seq", 8});
  x = b.Op("Reshape", {Transposed(b, x, {1, 0, 2}), Vector(b, {-1, 8})});
  y = b.Op("Reshape", {Transposed(b, y, {1, 0, 2}), Vector(b, {-1, 8})});
  x = b.Op("Add", {Relu(b, b.Op("MatMul", {x, Weight(b, 8, 8)})), y});
  x = b.Op("MatMul", {x, Weight(b, 8, 24)});
  const std::vector<Value*> parts =
      b.Ops("Split", 3, {x, Vector(b, {8, 8, 8})}, {{"axis", int64_t{-1}}});
  std::vector<Value*> sums;
  for (Value* part : parts) {
    Value* heads = b.Op("Reshape", {part, Vector(b, {-1, 2, 8})});
    sums.push_back(b.Op("Mul", {Relu(b, heads), heads}));
  }
  b.Output(b.Op("Sum", sums));
  b.Output(b.Op("ReduceMean", {Transposed(b, y, {1, 0}), Vector(b, {1})}));
}

TEST(MoveCostTest, EachMoveLowersIt) {
  OptimizerTester whole(Build);
  whole.Dim("batch", 2).ExpectSameResults(64 * kEpsilon);
  int moves = 0;
  for (size_t i = 0; i < whole.report().size() && whole.report()[i].applied; ++i) {
    if (whole.report()[i].pass != "move_views") continue;
    ++moves;
    const auto count = static_cast<int64_t>(i);
    const OptimizerTester before(Build, {.max_rewrites = count});
    const OptimizerTester after(Build, {.max_rewrites = count + 1});
    EXPECT_LT(CostOf(after.graph()), CostOf(before.graph())) << "rewrite " << i;
  }
  EXPECT_GE(moves, 6);
}

TEST(MoveCostTest, ViewsAboveANodeAreCountedAlongEachInput) {
  const OptimizerTester test(
      [](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {2, 3});
        Value* y = b.Op("Transpose", {b.Op("Reshape", {x, Vector(b, {3, 2})})});
        b.Output(b.Op("MatMul", {Transposed(b, x, {1, 0}), Relu(b, y)}));
      },
      {.max_rewrites = 0});
  const Node* product = test.graph().outputs()[0]->producer();
  EXPECT_EQ(opt::ViewsAbove(*product), 1);
  EXPECT_EQ(opt::ViewsAbove(*product->input(1)->producer()), 2);
}

}  // namespace
}  // namespace attnrun::testing
