// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/probabilities.h"

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

// Follows Where(IsNaN(p), 0, p).
Value* SkipGuard(Value* probabilities, Probabilities& result) {
  for (Node* is_nan : probabilities->consumers()) {
    if (!IsOp(is_nan, "IsNaN")) continue;
    for (Node* where : probabilities->consumers()) {
      if (!IsOp(where, "Where") || where->input(0) != is_nan->output(0)) continue;
      if (where->input(2) != probabilities || UniformOf(where->input(1)) != 0.0) continue;
      result.guarded = true;
      result.nodes.push_back(is_nan);
      result.nodes.push_back(where);
      return where->output(0);
    }
  }
  return probabilities;
}

// Follows Where(mask, 0, p) if it has the mask of the scores.
Value* SkipSecondMask(Value* probabilities, const Scores* scores, Probabilities& result) {
  constexpr double kSwallows = -1e30;
  if (scores == nullptr || scores->masks.size() != 1 || scores->mask_value > kSwallows) {
    return probabilities;
  }
  const Scores::Mask& mask = scores->masks[0];
  if (probabilities->consumers().size() != 1) return probabilities;
  Node* where = probabilities->consumers()[0];
  if (!IsOp(where, "Where") || where->input(0) != mask.operand.value) return probabilities;
  const int open = mask.negated ? 2 : 1;
  if (where->input(open) != probabilities || UniformOf(where->input(3 - open)) != 0.0) {
    return probabilities;
  }
  result.zero_rows = true;
  result.closes_masked = true;
  result.nodes.push_back(where);
  return where->output(0);
}

// The reader of the probabilities that is the product or leads to it.
Node* NextNode(const Value& probabilities, Facts& facts, int steps) {
  for (Node* node : probabilities.consumers()) {
    if (IsOp(node, "MatMul") && node->input(0) == &probabilities &&
        !node->input(1)->is_constant()) {
      return node;
    }
  }
  if (steps == 0) return nullptr;
  for (Node* node : probabilities.consumers()) {
    const bool passes = IsOp(node, "Cast") || IsOp(node, "Reshape") || IsOp(node, "Squeeze") ||
                        IsOp(node, "Unsqueeze");
    if (!passes || node->input(0) != &probabilities) continue;
    if (NextNode(*node->output(0), facts, steps - 1) != nullptr) return node;
  }
  return nullptr;
}

}  // namespace

Probabilities FollowProbabilities(const Node& softmax, const Scores* scores, Facts& facts) {
  constexpr int kMaxSteps = 4;
  Probabilities result;
  Value* value = SkipGuard(softmax.output(0), result);
  if (scores != nullptr && scores->sinks.has_value()) {
    value = WithoutSinks(value, *scores->sinks, facts, result.nodes);
    if (value == nullptr) return result;
    if (!result.guarded) value = SkipGuard(value, result);
  }
  value = SkipSecondMask(value, scores, result);
  result.values.push_back(value);
  for (int step = 0; step <= kMaxSteps; ++step) {
    Node* node = NextNode(*value, facts, kMaxSteps - step);
    if (node == nullptr) return result;
    if (IsOp(node, "MatMul")) {
      result.product = node;
      return result;
    }
    result.nodes.push_back(node);
    value = node->output(0);
    result.values.push_back(value);
  }
  return result;
}

}  // namespace attnrun::opt
