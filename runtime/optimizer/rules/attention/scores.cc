// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/scores.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rules/attention/score_steps.h"
#include "optimizer/rules/attention/sinks.h"

namespace attnrun::opt {
namespace {

// Exporters write fewer steps between a product and its Softmax.
constexpr int kMaxScoreSteps = 24;

// Walks from the Softmax towards the product, one node a step.
class ScoreWalk {
 public:
  ScoreWalk(Facts& facts, std::string& why) : facts_(facts), why_(why) {}

  std::optional<Scores> Find(Value* value, int steps) {
    static constexpr std::pair<absl::string_view, Step> kSteps[] = {
        {"MatMul", &ScoreWalk::Product}, {"Cast", &ScoreWalk::Same},
        {"Add", &ScoreWalk::Sum},        {"Sub", &ScoreWalk::Difference},
        {"Max", &ScoreWalk::Floored},    {"Clip", &ScoreWalk::Clipped},
        {"Where", &ScoreWalk::Choice},   {"Mul", &ScoreWalk::Scaled},
        {"Div", &ScoreWalk::Scaled},     {"Neg", &ScoreWalk::Negated}};
    Node* node = value == nullptr ? nullptr : value->producer();
    const std::vector<SymInt>* dims = value == nullptr ? nullptr : facts_.DimsOf(value);
    if (node == nullptr)
      return No(absl::StrCat(Quoted(value == nullptr ? "" : value->name()),
                             " is no product of two matrices"));
    if (dims == nullptr || dims->size() < 2) {
      return No(absl::StrCat("the extents of ", Quoted(value->name()), " are not known"));
    }
    // Both operands of a sum may have to be tried, so the number of visits must be limited.
    if (steps == 0 || --visits_left_ < 0)
      return No(absl::StrCat("too much stands before ", node->description()));
    if (ops::TraitsOf(*node).rearranges) return Rearranged(node, *dims, steps);
    const auto* step = EntryOf(kSteps, node);
    if (step == nullptr) return Between(*node);
    Result scores = (this->*step->second)(node, *dims, steps);
    // A number of several axes gives them to the scores that it scales.
    const bool has_axes = !scores.has_value() || scores->view.rank() == std::ssize(*dims);
    return has_axes ? std::move(scores) : Between(*node);
  }

 private:
  using Result = std::optional<Scores>;
  // Finds the scores behind a node, whose result has the extents `dims`, and what it does to them.
  using Step = Result (ScoreWalk::*)(Node* node, const std::vector<SymInt>& dims, int steps);

  // Only the first reason is reported.
  Result No(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return std::nullopt;
  }
  Result Between(const Node& outer) {
    // The report names the node before the views, since views are no obstacle themselves.
    const Node* inner = &outer;
    for (int i = 0; i < 4 && MovesElements(*inner) && inner->input(0)->producer() != nullptr; ++i) {
      inner = inner->input(0)->producer();
    }
    const bool is_map = IsLinearMap(*inner);
    const bool assembles = ops::TraitsOf(*inner).assembles;
    absl::string_view what = is_map ? ", a linear map over heads" : "";
    if (assembles) what = ", which puts them together: of blocks, of windows";
    const Node& node = is_map || assembles ? *inner : outer;
    return No(absl::StrCat("between the scores and the Softmax stands ", node.description(), what));
  }
  static bool IsLinearMap(const Node& node) {
    const auto is_constant = [](const Value* x) { return x != nullptr && x->is_constant(); };
    return ops::TraitsOf(node).multiplies && absl::c_any_of(node.inputs(), is_constant);
  }

  static Result Pass(Node* node, Result scores) {
    if (scores.has_value()) scores->nodes.insert(scores->nodes.begin(), node);
    return scores;
  }

  // The scores after `node`, given those of its operand. `record` adds the effect of the node to
  // them and returns false if that is not possible.
  Result Through(Node* node, Value* operand, int steps, absl::FunctionRef<bool(Scores&)> record) {
    Result scores = Find(operand, steps - 1);
    if (!scores.has_value()) return scores;
    if (!record(*scores)) return Between(*node);
    return Pass(node, std::move(scores));
  }

  Result Product(Node* node, const std::vector<SymInt>& dims, int /*steps*/) {
    // Queries or keys may be constant: learned ones, for a batch whose size the exporter fixed. A
    // constant matrix on the right is the weight of a projection.
    if (node->input(1)->is_constant() && node->input(1)->constant()->rank() < 3)
      return Between(*node);
    if (facts_.RankOf(node->input(0)) < 2 || facts_.RankOf(node->input(1)) < 2) {
      return No(absl::StrCat("the operands of ", node->description(), " are not heads"));
    }
    Scores scores;
    scores.matmul = node;
    scores.matmul_dims = dims;
    scores.view = View::Dense(dims);
    scores.nodes = {node};
    return scores;
  }

  // Scores plus a bias; the scores are the operand that leads to a product.
  Result Sum(Node* node, const std::vector<SymInt>& dims, int steps) {
    for (const auto& [value, bias] : ReadingsOf(node)) {
      if (!Fills(value, dims)) continue;
      Result scores = Find(value, steps - 1);
      if (!scores.has_value()) continue;
      if (AddsMaskValue(*scores, bias, 1)) return Pass(node, std::move(scores));
      if (!TakesBias(*scores, *node, why_)) return std::nullopt;
      scores->biases.push_back({{bias, scores->view}, 1, {}});
      return Pass(node, std::move(scores));
    }
    return No(absl::StrCat("no operand of ", node->description(), " is a product of two matrices"));
  }

  // Finite scores times a mask of 1 and 0.
  Result Kept(Node* node, const std::vector<SymInt>& dims, int steps) {
    for (const auto& [operand, kept] : ScalingsOf(node)) {
      if (IsDivOrSub(node) || !Fills(operand, dims) || !IsOneOrZero(kept, facts_)) continue;
      return Through(node, operand, steps, [&](Scores& scores) {
        return KeepScores(scores, {kept, scores.view}, facts_);
      });
    }
    const auto is_constant = [](const Value* x) { return x->is_constant(); };
    if (absl::c_none_of(node->inputs(), is_constant)) return Between(*node);
    return No(absl::StrCat("the scale at ", node->description(), " is no single number"));
  }

  Result Same(Node* node, const std::vector<SymInt>& /*dims*/, int steps) {
    return Pass(node, Find(node->input(0), steps - 1));
  }

  Result Difference(Node* node, const std::vector<SymInt>& dims, int steps) {
    const auto maximum = FindReduction(node->input(1), "ReduceMax", facts_);
    if (maximum.has_value() && maximum->reduced() == node->input(0)) {
      return Shifted(node, *maximum, steps);
    }
    if (Fills(node->input(1), dims) && ComesFromProduct(node->input(1)) &&
        !ComesFromProduct(node->input(0))) {
      return TakenOff(node, steps);
    }
    Result scores = Find(node->input(0), steps - 1);
    if (!scores.has_value() || !Fills(node->input(0), dims)) return Between(*node);
    if (AddsMaskValue(*scores, node->input(1), -1)) return Pass(node, std::move(scores));
    if (!TakesBias(*scores, *node, why_)) return std::nullopt;
    scores->biases.push_back({{node->input(1), scores->view}, -1, {}});
    return Pass(node, std::move(scores));
  }

  // bias - scores, as in -||q-k||^2 = 2 q·k - ...; the scale takes the sign.
  Result TakenOff(Node* node, int steps) {
    Result scores = TimesMinusOne(node, node->input(1), steps);
    if (!scores.has_value() || !TakesBias(*scores, *node, why_)) return std::nullopt;
    scores->biases.push_back({{node->input(0), scores->view}, 1, {}});
    return scores;
  }

  Result Negated(Node* node, const std::vector<SymInt>& /*dims*/, int steps) {
    return TimesMinusOne(node, node->input(0), steps);
  }

  Result TimesMinusOne(Node* node, Value* operand, int steps) {
    return Through(node, operand, steps, [](Scores& scores) { return ScaleScores(scores, -1); });
  }

  // Scores minus the maximum of their row, which some models subtract before the Softmax.
  Result Shifted(Node* node, const AxisReduction& maximum, int steps) {
    return Through(node, node->input(0), steps, [&](Scores& scores) {
      if (scores.shifted) return false;
      scores.shifted = true;
      const size_t rank = scores.view.axes().size();
      scores.row = scores.view.axes()[maximum.axis < 0 ? maximum.axis + rank : maximum.axis];
      scores.nodes.insert(scores.nodes.begin(), maximum.nodes.rbegin(), maximum.nodes.rend());
      return true;
    });
  }

  Result Floored(Node* node, const std::vector<SymInt>& dims, int steps) {
    for (const auto& [value, number] : ReadingsOf(node)) {
      const auto floor = UniformOf(number);
      if (!Absorbs(floor.value_or(0)) || !Fills(value, dims)) continue;
      return Through(node, value, steps,
                     [&](Scores& scores) { return FloorScores(scores, *floor); });
    }
    return Between(*node);
  }

  // A Clip that has a lower bound alone.
  Result Clipped(Node* node, const std::vector<SymInt>& dims, int steps) {
    const Value* least = node->input(1);
    const auto floor = least == nullptr ? std::nullopt : UniformOf(least);
    if (node->input(2) != nullptr || !Absorbs(floor.value_or(0)) || !Fills(node->input(0), dims)) {
      return Between(*node);
    }
    return Through(node, node->input(0), steps,
                   [&](Scores& scores) { return FloorScores(scores, *floor); });
  }

  Result Choice(Node* node, const std::vector<SymInt>& dims, int steps) {
    for (const int side : {1, 2}) {
      Value* operand = node->input(side);
      const auto number = UniformOf(node->input(3 - side));
      if (!number.has_value() || !IsMaskValue(*number) || !Fills(operand, dims)) continue;
      return Through(node, operand, steps, [&](Scores& scores) {
        Scores::Mask mask = {{node->input(0), scores.view}, side == 2};
        return MaskScores(scores, std::move(mask), *number, *node, why_);
      });
    }
    return Between(*node);
  }

  // A product or quotient with one number, which may end a softcap.
  Result Scaled(Node* node, const std::vector<SymInt>& dims, int steps) {
    double factor = 1;
    Value* inner = ScaledOperand(*node, factor);
    if (inner == nullptr) return Kept(node, dims, steps);
    Node* before = inner->producer();
    if (IsOp(before, "Tanh")) return Capped(node, before, factor, steps);
    return Through(node, inner, steps, [&](Scores& scores) { return ScaleScores(scores, factor); });
  }

  // cap * tanh(x / cap).
  Result Capped(Node* product, Node* tanh, double cap, int steps) {
    return Pass(product, Through(tanh, tanh->input(0), steps,
                                 [&](Scores& scores) { return CapScores(scores, cap); }));
  }

  // A node that only puts the scores elsewhere.
  Result Rearranged(Node* node, const std::vector<SymInt>& /*dims*/, int steps) {
    return Through(node, node->input(0), steps, [&](Scores& scores) {
      auto view = ApplyViewNode(*node, *node->output(0), scores.view, facts_);
      if (!view.has_value()) return false;
      scores.view = *std::move(view);
      return true;
    });
  }

  // True if an operand has all the extents of the result, so that the other one broadcasts to it.
  // Extents with different names, as a mask may have, count as equal: the operator refuses a run in
  // which they differ.
  bool Fills(const Value* value, const std::vector<SymInt>& dims) {
    const std::vector<SymInt>* of = facts_.DimsOf(value);
    if (of == nullptr || of->size() != dims.size()) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if ((*of)[i] != dims[i] && (*of)[i].constant().has_value()) return false;
    }
    return true;
  }

  Facts& facts_;
  std::string& why_;
  int visits_left_ = 256;
};

// Finds the axis of the product over which a Softmax over `axis` of the scores runs: one of its
// last two, or a part of one, beside the samples. False, with the reason in `why`, if there is
// none.
bool FindKeys(Scores& scores, int axis, std::string& why) {
  const View product = View::Dense(scores.matmul_dims);
  const ViewAxis& row = scores.view.axes()[axis];
  for (const bool whole : {true, false}) {
    for (const int last : {1, 2}) {
      scores.keys_axis = product.rank() - last;
      const ViewAxis& keys = product.axes()[scores.keys_axis];
      if (whole ? row != keys : !SplitAround(keys, row).has_value()) continue;
      if (!scores.shifted || scores.row == row) return true;
    }
  }
  why = absl::StrCat("the Softmax runs over another axis than the keys of ",
                     scores.matmul->description(), ", its axis ", axis);
  return false;
}

}  // namespace

std::optional<Scores> FindScores(Value* value, int axis, Facts& facts, std::string& why) {
  std::optional<Sinks> sinks =
      axis + 1 == facts.RankOf(value) ? FindSinks(value, facts) : std::nullopt;
  auto scores =
      ScoreWalk(facts, why).Find(sinks.has_value() ? sinks->scores : value, kMaxScoreSteps);
  if (!scores.has_value()) return scores;
  if (!FindKeys(*scores, axis, why)) return std::nullopt;
  if (!sinks.has_value()) return scores;
  if (scores->shifted) {
    why = absl::StrCat("the scores that ", sinks->nodes.back()->description(),
                       " puts sinks beside are relative to the greatest of their row");
    return std::nullopt;
  }
  scores->nodes.insert(scores->nodes.begin(), sinks->nodes.begin(), sinks->nodes.end());
  sinks->operand.scores = scores->view;
  scores->sinks = std::move(sinks);
  return scores;
}

}  // namespace attnrun::opt
