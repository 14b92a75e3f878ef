// SPDX-License-Identifier: Apache-2.0

// tf2onnx writes a choice between two tensors as a sum of products with the mask as numbers. Where
// it leads to a Softmax it becomes a Where, as other exporters write a mask of scores, and so does
// one between probabilities and 0:
//
//   scores   m    least   m              m   scores   least
//      \     |      |     |               \    |      /
//       \   Cast    |    Not                 Where
//        \  /       |    Cast      ->          |
//         Mul       |    /                  Softmax
//           \       Mul -
//            \     /
//              Add
//               |
//            Softmax
//
// The scores that the mask excludes are taken to be finite, as in all of attention: the sum would
// be NaN otherwise.
//
// Keras chooses between scores and scores less a number, which adds a mask:
//
//   m   scores   scores - n            scores   Where(m, 0, -n)
//    \    |      /                          \   /
//       Where                 ->             Add
//         |                                   |
//      Softmax                             Softmax

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/ways.h"

namespace attnrun::opt {
namespace {

bool ChooseByMask(RuleContext& context, Node* node, Patch& patch) {
  Value* mask = nullptr;
  Value* chosen = nullptr;
  Value* other = nullptr;
  const auto number = [](Pattern condition) { return Op("Cast", {std::move(condition)}); };
  const Pattern sum = Op("Add", {Op("Mul", {number(Is(&mask)), Is(&chosen)}),
                                 Op("Mul", {number(Op("Not", {Same(&mask)})), Is(&other)})});
  MatchedNodes nodes;
  if (!sum.Match(node->output(0), context.facts, nodes)) return false;
  if (context.facts.TypeOf(mask) != DataType::kBool) return false;
  const bool probabilities = ProducerOf(chosen, "Softmax") != nullptr && UniformOf(other) == 0.0;
  return (probabilities || LeadsToSoftmax(*node->output(0))) &&
         patch.Substitute(node, "Where", {mask, chosen, other});
}

// The number that is added to `x` to give `sum`; nullopt if `sum` is something else.
std::optional<double> NumberAdded(const Value* sum, const Value* x) {
  const Node* node = sum->producer();
  for (const auto& [value, added] : SumsOf(node)) {
    const auto number = value == x ? ScalarOf(added) : std::nullopt;
    if (number.has_value()) return IsDivOrSub(node) ? -*number : *number;
  }
  return std::nullopt;
}

bool AddByMask(RuleContext& context, Node* where, Patch& patch) {
  for (const int side : {1, 2}) {
    Value* scores = where->input(3 - side);
    const auto number = NumberAdded(where->input(side), scores);
    if (!number.has_value() || !LeadsToSoftmax(*where->output(0))) continue;
    // The number may have more axes than the scores.
    const int rank = context.facts.RankOf(scores);
    if (rank < 0 || context.facts.RankOf(where->input(side)) != rank) continue;
    const DataType type = context.facts.TypeOf(scores);
    Value* added = patch.Number("added", type, *number);
    Value* zero = patch.Number("zero", type, 0);
    Value* bias =
        patch.Op("Where", {where->input(0), side == 1 ? added : zero, side == 1 ? zero : added});
    return patch.Substitute(where, "Add", {scores, bias});
  }
  return false;
}

}  // namespace

extern const Rule kSelectedScores = {
    .name = "selected_scores",
    .summary = "Scores chosen by a mask as numbers are chosen by Where, or added to",
    .starts = {{{"Add", ChooseByMask}, {"Where", AddByMask}}}};

}  // namespace attnrun::opt
