// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/shared_scores.h"

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

// Scores of up to this many elements stay in the first-level caches.
constexpr int64_t kFewScores = 64 * 64;

bool AreFew(const Scores& scores) {
  const auto queries = scores.matmul_dims[scores.matmul_dims.size() - 2].constant();
  const auto keys = scores.matmul_dims.back().constant();
  return queries.has_value() && keys.has_value() && *queries * *keys < kFewScores;
}

// The Softmax at the end of a chain of values with one reader each; null if there is none.
Node* SoftmaxBehind(Node* node) {
  constexpr int kMaxSteps = 12;
  for (int step = 0; step <= kMaxSteps; ++step) {
    if (IsOp(node, "Softmax")) return node;
    if (node->outputs().size() != 1 || node->output(0)->consumers().size() != 1) return nullptr;
    node = node->output(0)->consumers()[0];
  }
  return nullptr;
}

}  // namespace

std::vector<Node*> ScoresToRemove(const Graph& graph, const Scores& scores,
                                  const std::vector<Node*>& rest,
                                  absl::FunctionRef<bool(Node* softmax)> is_attention) {
  std::vector<Node*> removed = scores.nodes;
  const auto stays = [&](const Node* reader) {
    return !absl::c_linear_search(removed, reader) && !absl::c_linear_search(rest, reader);
  };
  const auto is_read = [&](const Node* node) {
    return absl::c_any_of(node->output(0)->consumers(), stays);
  };
  // Each reader asks for all others, and a file must not be able to exhaust the clock. Exporters
  // share scores between two or three.
  constexpr size_t kMostReaders = 32;
  for (auto node = absl::c_find_if(removed, is_read); node != removed.end();
       node = absl::c_find_if(removed, is_read)) {
    if ((*node)->output(0)->consumers().size() > kMostReaders) return scores.nodes;
    if (graph.IsOutput((*node)->output(0)) || AreFew(scores)) return scores.nodes;
    for (Node* reader : (*node)->output(0)->consumers()) {
      if (!stays(reader) || absl::c_linear_search(scores.nodes, reader)) continue;
      Node* softmax = SoftmaxBehind(reader);
      if (softmax == nullptr || !is_attention(softmax)) return scores.nodes;
    }
    removed.erase(node);
  }
  return removed;
}

}  // namespace attnrun::opt
