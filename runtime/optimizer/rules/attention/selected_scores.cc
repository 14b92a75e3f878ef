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
// The scores that the mask excludes are taken to be finite, as in all of attention: the sum would be
// NaN otherwise.

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

}  // namespace

extern const Rule kSelectedScores = {
    .name = "selected_scores",
    .summary = "Scores chosen by a sum of products with a mask are chosen by Where",
    .anchors = {"Add"},
    .propose = ChooseByMask};

}  // namespace attnrun::opt
