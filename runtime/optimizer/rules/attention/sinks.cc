// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/sinks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/pads.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/attention/score_steps.h"

namespace attnrun::opt {
namespace {

bool HasOneColumn(const Value* value, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(value);
  return dims != nullptr && dims->size() >= 2 && dims->back().is_constant(1);
}

// The least that a score may be, as far as masks and biases tell; minus infinity if they do not.
float LeastScore(const Scores& scores, Facts& facts) {
  double least = scores.masks.empty() ? 0 : scores.mask_value;
  for (const ScoreBias& bias : scores.biases) {
    const auto lowest =
        bias.mask_value.has_value() ? bias.mask_value : LeastOf(bias.operand.value, facts);
    if (!lowest.has_value()) return -INFINITY;
    least += std::min(*lowest * bias.factor, 0.0);
  }
  return static_cast<float>(least);
}

// The scores with a column of sinks behind them.
Value* Beside(Patch& patch, Facts& facts, Value* scores, Value* sinks, double number) {
  const std::vector<SymInt>* known = facts.DimsOf(scores);
  if (known == nullptr || known->empty()) return nullptr;
  if (sinks == nullptr) {
    std::vector<int64_t> pads(2 * known->size(), 0);
    pads.back() = 1;
    Value* sink = patch.Number("sink", facts.TypeOf(scores), number);
    return patch.Op("Pad", {scores, patch.Ints(pads), sink});
  }
  std::vector<SymInt> dims = *known;
  dims.back() = SymInt(1);
  const std::vector<SymInt>* own = facts.DimsOf(sinks);
  if (own == nullptr || !BroadcastsTo(*own, dims)) return nullptr;
  Value* shape = ShapeOperand(patch, dims, {scores});
  if (shape == nullptr) return nullptr;
  return patch.Op("Concat", {scores, patch.Op("Expand", {sinks, shape})}, {{"axis", int64_t{-1}}});
}

// Sinks from a Concat of the scores and a tensor of one column.
std::optional<Sinks> OfConcat(Node* concat, Facts& facts) {
  const int rank = facts.RankOf(concat->output(0));
  if (concat->inputs().size() != 2 || rank < 2 || !IsAlongLast(*concat, rank)) return std::nullopt;
  for (const int side : {1, 0}) {
    Value* column = concat->input(side);
    if (!HasOneColumn(column, facts)) continue;
    Sinks sinks{.scores = concat->input(1 - side), .first = side == 0, .nodes = {concat}};
    const auto number = UniformOf(column);
    sinks.number = number.value_or(0);
    if (!number.has_value()) sinks.operand.value = column;
    return sinks;
  }
  return std::nullopt;
}

// Sinks from a Pad that adds one column of one number.
std::optional<Sinks> OfPad(Node* pad, Facts& facts) {
  const int rank = facts.RankOf(pad->input(0));
  if (rank < 2 || AttributeOr<std::string>(*pad, "mode", "constant") != "constant") {
    return std::nullopt;
  }
  const auto pads = PadsOf(*pad, rank, facts);
  if (!pads.has_value()) return std::nullopt;
  const bool first = (*pads)[rank - 1] == 1;
  if ((*pads)[first ? rank - 1 : 2 * rank - 1] != 1) return std::nullopt;
  if (absl::c_count(*pads, 0) != 2 * rank - 1) return std::nullopt;
  const Value* value = pad->input(2);
  const auto number = value == nullptr ? AttributeOr<float>(*pad, "value", 0) : UniformOf(value);
  if (!number.has_value()) return std::nullopt;
  return Sinks{.scores = pad->input(0), .number = *number, .first = first, .nodes = {pad}};
}

std::optional<Sinks> OfCast(Node* cast, Facts& facts) {
  auto sinks = FindSinks(cast->input(0), facts);
  if (sinks.has_value()) sinks->nodes.insert(sinks->nodes.begin(), cast);
  return sinks;
}

}  // namespace

std::optional<Sinks> FindSinks(Value* value, Facts& facts) {
  static constexpr std::pair<absl::string_view, std::optional<Sinks> (*)(Node*, Facts&)> kForms[] =
      {{"Concat", OfConcat}, {"Pad", OfPad}, {"Cast", OfCast}};
  const auto* form = EntryOf(kForms, value->producer());
  return form == nullptr ? std::nullopt : form->second(value->producer(), facts);
}

Value* WithoutSinks(Value* probabilities, const Sinks& sinks, Facts& facts,
                    std::vector<Node*>& nodes) {
  const std::vector<SymInt>* known = facts.DimsOf(probabilities);
  const std::vector<SymInt>* scores = facts.DimsOf(sinks.scores);
  if (known == nullptr || scores == nullptr) return nullptr;
  const View all = View::Dense(*known);
  const SymInt start(sinks.first ? 1 : 0);
  const auto wanted = all.Sliced(all.rank() - 1, start, scores->back());
  for (Node* node : probabilities->consumers()) {
    if (IsOp(node, "Cast") && probabilities->consumers().size() == 1) {
      nodes.push_back(node);
      return WithoutSinks(node->output(0), sinks, facts, nodes);
    }
    if (!MovesElements(*node) || node->input(0) != probabilities || !wanted.has_value()) continue;
    for (Value* output : node->outputs()) {
      if (output == nullptr || ApplyViewNode(*node, *output, all, facts) != wanted) continue;
      nodes.push_back(node);
      return output;
    }
  }
  return nullptr;
}

Value* SoftmaxBeside(Patch& patch, Facts& facts, Value* scores, Value* sinks, double number,
                     absl::string_view name) {
  Value* all = Beside(patch, facts, scores, sinks, number);
  if (all == nullptr) return nullptr;
  Value* y = patch.Op("Softmax", {all}, {{"axis", int64_t{-1}}}, std::string(name));
  return patch.Op("Slice", {y, patch.Ints({0}), patch.Ints({-1}), patch.Ints({-1})});
}

bool HaveFiniteRows(Value* scores, RuleContext& context, const Node& anchor) {
  Facts& facts = context.facts;
  std::string why;
  const auto found = FindScores(scores, facts.RankOf(scores) - 1, facts, why);
  if (found.has_value() && std::isfinite(LeastScore(*found, facts))) return true;
  context.Miss(anchor, "rows whose scores are all -inf come to NaN");
  return false;
}

}  // namespace attnrun::opt
