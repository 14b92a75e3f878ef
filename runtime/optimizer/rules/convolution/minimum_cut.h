// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_MINIMUM_CUT_H_
#define ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_MINIMUM_CUT_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace attnrun::opt {

// A directed graph whose edges cost something if they lead from the side of the source to the side
// of the sink.
class MinimumCut {
 public:
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;
  // Some tenths of a second. A network of 1,000 convolutions takes 100,000.
  static constexpr int64_t kMostSteps = 30'000'000;

  int AddVertex();
  // Costs of kNever or more are never paid if there is another way.
  void AddEdge(int from, int to, int64_t cost);

  // The vertices on the side of the source, as true, of the cut that costs least; the one with most
  // vertices on that side, of several. nullopt if that takes more steps along edges than this: in
  // the worst case their number grows with the square of the vertices.
  std::optional<std::vector<bool>> Solve(int64_t most_steps = kMostSteps);

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
  // Steps left; negative once there are none.
  int64_t steps_ = 0;
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_MINIMUM_CUT_H_
