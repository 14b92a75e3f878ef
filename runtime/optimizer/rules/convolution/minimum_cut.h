// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_MINIMUM_CUT_H_
#define ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_MINIMUM_CUT_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace attnrun::opt {

// A directed graph whose edges cost something if they lead from the side of the source to the side
// of the sink.
class MinimumCut {
 public:
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

  int AddVertex();
  // Costs of kNever or more are never paid if there is another way.
  void AddEdge(int from, int to, int64_t cost);

  // The vertices on the side of the source, as true, of the cut that costs least; the one with most
  // vertices on that side, of several.
  std::vector<bool> Solve();

 private:
  struct Edge {
    int to;
    int64_t capacity;
  };

  // Numbers the vertices by their distance from the source. False if the sink is out of reach.
  bool FindLevels();
  // Sends at most `limit` along edges to higher levels, from `vertex` to the sink.
  int64_t Push(int vertex, int64_t limit);

  // The edge back is at the odd place behind an edge.
  std::vector<Edge> edges_;
  // The places of the edges that leave each vertex.
  std::vector<std::vector<int>> leaving_ = std::vector<std::vector<int>>(2);
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_MINIMUM_CUT_H_
