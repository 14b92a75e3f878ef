// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/convolution/minimum_cut.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "support/op_tester.h"

namespace attnrun::opt {
namespace {

struct Edge {
  int from;
  int to;
  int64_t cost;
};

int64_t CostOf(const std::vector<Edge>& edges, unsigned of_source) {
  int64_t cost = 0;
  for (const Edge& edge : edges) {
    const bool cut = (of_source >> edge.from & 1) != 0 && (of_source >> edge.to & 1) == 0;
    if (cut) cost += edge.cost;
  }
  return cost;
}

// The cheapest of all cuts, the largest of several.
unsigned Cheapest(const std::vector<Edge>& edges, int vertices) {
  unsigned best = 1;
  for (unsigned cut = 1; cut < 1U << vertices; ++cut) {
    if ((cut & 3) != 1) continue;
    const int64_t gain = CostOf(edges, best) - CostOf(edges, cut);
    if (gain > 0 || (gain == 0 && std::popcount(cut) > std::popcount(best))) best = cut;
  }
  return best;
}

TEST(MinimumCutTest, IsTheCheapestOfAllCuts) {
  std::mt19937 generator(testing::Seed());
  const auto number = [&](int64_t high) {
    return std::uniform_int_distribution<int64_t>(0, high)(generator);
  };
  for (int trial = 0; trial < 300; ++trial) {
    const int vertices = 2 + static_cast<int>(number(6));
    MinimumCut cut;
    for (int i = 2; i < vertices; ++i) EXPECT_EQ(cut.AddVertex(), i);
    std::vector<Edge> edges;
    for (int64_t i = number(20); i >= 0; --i) {
      const Edge edge = {static_cast<int>(number(vertices - 1)),
                         static_cast<int>(number(vertices - 1)), number(4)};
      edges.push_back(edge);
      cut.AddEdge(edge.from, edge.to, edge.cost);
    }
    const std::vector<bool> of_source = cut.Solve().value();
    unsigned found = 0;
    for (int i = 0; i < vertices; ++i) found |= of_source[i] ? 1U << i : 0;
    EXPECT_EQ(found, Cheapest(edges, vertices));
  }
}

TEST(MinimumCutTest, LongPathsAndLargeCosts) {
  MinimumCut cut;
  int last = MinimumCut::kSource;
  for (int i = 0; i < 100000; ++i) {
    const int next = cut.AddVertex();
    cut.AddEdge(last, next, i == 70000 ? 5 : MinimumCut::kNever);
    last = next;
  }
  cut.AddEdge(last, MinimumCut::kSink, MinimumCut::kNever);
  EXPECT_FALSE(cut.Solve(1000).has_value());
  const std::vector<bool> of_source = cut.Solve().value();
  EXPECT_TRUE(of_source[2 + 69999]);
  EXPECT_FALSE(of_source[2 + 70000]);
}

}  // namespace
}  // namespace attnrun::opt
