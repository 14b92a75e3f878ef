// SPDX-License-Identifier: Apache-2.0

// Dinitz' algorithm: the largest flow from the source to the sink costs as much as the cheapest
// cut.

#include "optimizer/rules/convolution/minimum_cut.h"

#include <algorithm>
#include <iterator>

namespace attnrun::opt {

int MinimumCut::AddVertex() {
  leaving_.emplace_back();
  return static_cast<int>(leaving_.size()) - 1;
}

void MinimumCut::AddEdge(int from, int to, int64_t cost) {
  leaving_[from].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, std::min(cost, kNever)});
  leaving_[to].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinimumCut::FindLevels() {
  level_.assign(leaving_.size(), -1);
  level_[kSource] = 0;
  std::vector<int> reached = {kSource};
  for (size_t i = 0; i < reached.size(); ++i) {
    steps_ -= static_cast<int64_t>(leaving_[reached[i]].size());
    for (const int edge : leaving_[reached[i]]) {
      const auto [to, capacity] = edges_[edge];
      if (capacity == 0 || level_[to] >= 0) continue;
      level_[to] = level_[reached[i]] + 1;
      reached.push_back(to);
    }
  }
  return level_[kSink] >= 0;
}

int64_t MinimumCut::Push(int vertex, int64_t limit) {
  // An explicit path in place of recursion: graphs come from files, and may be deep.
  std::vector<int> path;
  while (vertex != kSink) {
    bool found = false;
    for (size_t& next = next_[vertex]; next < leaving_[vertex].size(); ++next) {
      --steps_;
      const int edge = leaving_[vertex][next];
      const auto [to, capacity] = edges_[edge];
      if (capacity == 0 || level_[to] != level_[vertex] + 1) continue;
      path.push_back(edge);
      vertex = to;
      found = true;
      break;
    }
    if (found) continue;
    // A dead end: takes the last step back and tries the next edge.
    if (path.empty()) return 0;
    vertex = edges_[path.back() ^ 1].to;
    path.pop_back();
    ++next_[vertex];
  }
  steps_ -= std::ssize(path);
  for (const int edge : path) limit = std::min(limit, edges_[edge].capacity);
  for (const int edge : path) {
    edges_[edge].capacity -= limit;
    edges_[edge ^ 1].capacity += limit;
  }
  return limit;
}

std::optional<std::vector<bool>> MinimumCut::Solve(int64_t most_steps) {
  steps_ = most_steps;
  while (FindLevels()) {
    next_.assign(leaving_.size(), 0);
    while (steps_ >= 0 && Push(kSource, kNever) > 0) {
    }
    if (steps_ < 0) return std::nullopt;
  }
  // The side of the sink is all that still reaches it.
  std::vector<bool> of_source(leaving_.size(), true);
  std::vector<int> reached = {kSink};
  of_source[kSink] = false;
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const int edge : leaving_[reached[i]]) {
      const int from = edges_[edge].to;
      if (edges_[edge ^ 1].capacity == 0 || !of_source[from]) continue;
      of_source[from] = false;
      reached.push_back(from);
    }
  }
  return of_source;
}

}  // namespace attnrun::opt
