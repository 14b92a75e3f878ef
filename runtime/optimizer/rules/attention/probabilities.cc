// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/probabilities.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rules/attention/score_steps.h"
#include "optimizer/rules/attention/sinks.h"

namespace attnrun::opt {
namespace {

// The output of a reader of the probabilities that matches; null if there is none. Appends its
// nodes.
Value* ComputedBehind(const Value& probabilities, const Pattern& pattern, Facts& facts,
                      std::vector<Node*>& nodes) {
  for (const Node* reader : probabilities.consumers()) {
    if (pattern.Match(reader->output(0), facts, nodes)) return reader->output(0);
  }
  return nullptr;
}

// Where(IsNaN(p), 0, p), or null if there is none. Appends its nodes.
Value* GuardOf(Value* probabilities, Facts& facts, std::vector<Node*>& nodes) {
  const Pattern p = Same(&probabilities);
  const Pattern guard = Op("Where", {Op("IsNaN", {p}), Uniform(0), p});
  return ComputedBehind(*probabilities, guard, facts, nodes);
}

// Follows a guard, also one behind a Cast to another float, whose NaNs are the same.
Value* SkipGuard(Value* probabilities, Probabilities& result, Facts& facts) {
  Value* guarded = GuardOf(probabilities, facts, result.nodes);
  for (Node* reader : probabilities->consumers()) {
    if (guarded != nullptr || !IsOp(reader, "Cast")) continue;
    if (!IsFloatingPoint(facts.Of(reader->output(0)).type)) continue;
    std::vector<Node*> nodes = {reader};
    guarded = GuardOf(reader->output(0), facts, nodes);
    if (guarded != nullptr) absl::c_copy(nodes, std::back_inserter(result.nodes));
  }
  if (guarded == nullptr) return probabilities;
  result.guarded = true;
  return guarded;
}

// True if a key that the mask leaves may have a score as low as those that it masks, since a bias
// masks, too. Where all keys that such a bias leaves are masked, a finite mask value gives them all
// the weight, and the row 0; masked by -inf, they would leave the weight to others.
bool BiasMayMask(const Scores& scores, Facts& facts) {
  const auto may_mask = [&](const ScoreBias& bias) {
    return bias.mask_value.value_or(0) < -kLargeScore || !IsOrdinary(bias.operand.value, facts);
  };
  return !std::isinf(scores.mask_value) && absl::c_any_of(scores.biases, may_mask);
}

// Follows Where(mask, 0, p), or p times the mask as numbers, if it has the mask of the scores.
Value* SkipSecondMask(Value* probabilities, const Scores* scores, Probabilities& result,
                      Facts& facts) {
  // Beside a key that the mask leaves, one of this score has the weight 0, since exp(-104) is 0 in
  // float32: the scores of a model do not all lie near -10,000, which NeMo masks with.
  constexpr double kFarBelow = -1e4;
  if (scores == nullptr || scores->masks.size() != 1 || scores->mask_value > kFarBelow ||
      probabilities->consumers().size() != 1) {
    return probabilities;
  }
  const Scores::Mask& mask = scores->masks[0];
  if (!(mask.operand.scores == scores->view) || BiasMayMask(*scores, facts)) return probabilities;
  const Pattern given = Same(&mask.operand.value);
  const Pattern p = Same(&probabilities);
  const Pattern chosen =
      mask.negated ? Op("Where", {given, Uniform(0), p}) : Op("Where", {given, p, Uniform(0)});
  const Pattern kept = Op("Cast", {mask.negated ? Op("Not", {given}) : given});
  Value* masked = ComputedBehind(*probabilities, chosen, facts, result.nodes);
  // A row of -inf alone is NaN, and a product keeps it.
  const bool keeps_nan = masked == nullptr && std::isinf(scores->mask_value);
  if (masked == nullptr) {
    masked = ComputedBehind(*probabilities, Op("Mul", {p, kept}), facts, result.nodes);
  }
  if (masked == nullptr) return probabilities;
  result.zero_rows = !keeps_nan;
  result.closes_masked = true;
  return masked;
}

// The walk from the Softmax to the product.
class ProductWalk {
 public:
  ProductWalk(Probabilities& result, Facts& facts) : result_(result), facts_(facts) {}

  // True if a product is at most so many views and Casts away. Sets the product and the nodes.
  bool Find(Value* value, const View& view, int steps) {
    for (Node* node : value->consumers()) {
      for (const int side : {0, 1}) {
        if (IsProduct(*node, side, value, view)) return Ends(node, side, value, view);
      }
    }
    if (steps == 0) return false;
    for (Node* node : value->consumers()) {
      const auto next = Next(*node, value, view);
      if (!next.has_value() || !Find(node->output(0), *next, steps - 1)) continue;
      result_.nodes.push_back(node);
      result_.steps.push_back({value, view});
      return true;
    }
    return false;
  }

 private:
  // True if the node multiplies the probabilities, its operand at `side`, by values, and sums over
  // the keys.
  bool IsProduct(const Node& node, int side, const Value* value, const View& view) const {
    if (!IsOp(&node, "MatMul") || node.input(side) != value || view.rank() < 2) return false;
    const Value* values = node.input(1 - side);
    // If both operands are probabilities, the first is taken as such.
    if (side == 1 && IsOp(values->producer(), "Softmax")) return false;
    return !values->is_constant() && view.axes()[view.rank() - 1 - side] == result_.keys;
  }

  bool Ends(Node* product, int side, Value* value, const View& view) {
    result_.product = product;
    result_.side = side;
    result_.view = view;
    result_.steps.push_back({value, view});
    return true;
  }

  std::optional<View> Next(const Node& node, const Value* value, const View& view) const {
    if (node.input(0) != value) return std::nullopt;
    if (IsOp(&node, "Cast")) return view;
    if (!ops::TraitsOf(node).rearranges) return std::nullopt;
    return ApplyViewNode(node, *node.output(0), view, facts_);
  }

  Probabilities& result_;
  Facts& facts_;
};

}  // namespace

Probabilities FollowProbabilities(const Node& softmax, int axis, const Scores* scores,
                                  Facts& facts) {
  constexpr int kMaxSteps = 4;
  Probabilities result;
  const std::vector<SymInt>* dims = facts.DimsOf(softmax.output(0));
  if (dims == nullptr) return result;
  result.view = scores != nullptr ? scores->view : View::Dense(*dims);
  result.keys = result.view.axes()[axis];
  Value* value = SkipGuard(softmax.output(0), result, facts);
  if (scores != nullptr && scores->sinks.has_value()) {
    value = WithoutSinks(value, *scores->sinks, facts, result.nodes);
    if (value == nullptr) return result;
    if (!result.guarded) value = SkipGuard(value, result, facts);
  }
  value = SkipSecondMask(value, scores, result, facts);
  const auto before = static_cast<std::ptrdiff_t>(result.nodes.size());
  const View view = result.view;
  ProductWalk(result, facts).Find(value, view, kMaxSteps);
  // The walk comes back from the product.
  std::reverse(result.nodes.begin() + before, result.nodes.end());
  absl::c_reverse(result.steps);
  return result;
}

}  // namespace attnrun::opt
