// SPDX-License-Identifier: Apache-2.0

// Parts of scores may get a bias each, as a mask, before they are concatenated to one Softmax. The
// biases are concatenated by themselves, so that the products of the parts can be joined:
//
//   s1  b1   s2                   s1  s2     b1  0
//    \  /    /                     \  /       \  /
//     Add   /                     Concat     Concat
//       \  /            ->             \     /
//      Concat                            Add
//        |                                |
//     Softmax                          Softmax

#include <vector>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/ways.h"

namespace attnrun::opt {
namespace {

// A part as scores and their bias, which is null if there is none.
struct BiasedPart {
  Value* scores = nullptr;
  Value* bias = nullptr;
  Node* add = nullptr;
};

BiasedPart Taken(Value* value, RuleContext& context) {
  Node* add = ProducerOf(value, "Add");
  if (add == nullptr || OnlyReader(context.graph, value) == nullptr) return {value};
  const std::vector<SymInt>* dims = context.facts.DimsOf(value);
  for (const auto& [scores, bias] : ReadingsOf(add)) {
    const std::vector<SymInt>* of = context.facts.DimsOf(scores);
    const bool fills = of != nullptr && dims != nullptr && *of == *dims;
    if (fills && ComesFromProduct(scores)) return {scores, bias, add};
  }
  return {value};
}

// The bias of a part, or zeros, with all extents of the part along the axis, counted from the last.
Value* Filled(const BiasedPart& part, int from_last, Patch& patch, Facts& facts) {
  const std::vector<SymInt>& dims = *facts.DimsOf(part.scores);
  std::vector<SymInt> filled(dims.size(), SymInt(1));
  *(filled.end() - from_last) = *(dims.end() - from_last);
  Value* shape = ShapeOperand(patch, filled, {part.scores});
  if (shape == nullptr) return nullptr;
  Value* bias =
      part.bias != nullptr ? part.bias : patch.Number("zero", facts.TypeOf(part.scores), 0);
  return patch.Op("Expand", {bias, shape});
}

bool JoinBiases(RuleContext& context, Node* concat, Patch& patch) {
  Facts& facts = context.facts;
  const int rank = facts.RankOf(concat->output(0));
  const auto axis = AxisOf(*concat, rank);
  if (!axis.has_value() || !LeadsToSoftmax(*concat->output(0))) return false;
  const int from_last = rank - *axis;
  std::vector<Value*> scores;
  std::vector<Value*> biases;
  bool has_bias = false;
  for (Value* input : concat->inputs()) {
    const BiasedPart part = Taken(input, context);
    if (!ComesFromProduct(part.scores) || facts.DimsOf(part.scores) == nullptr) return false;
    if (part.add != nullptr) patch.Supersede({part.add});
    has_bias = has_bias || part.add != nullptr;
    scores.push_back(part.scores);
    biases.push_back(Filled(part, from_last, patch, facts));
  }
  if (!has_bias) return false;
  Value* bias = JoinedParts(biases, from_last, scores, patch);
  if (bias == nullptr) return false;
  return patch.Substitute(concat, "Add",
                          {patch.Op("Concat", scores, {{"axis", int64_t{*axis}}}), bias});
}

}  // namespace

extern const Rule kJoinedBiases = {
    .name = "joined_biases",
    .summary = "Biases of scores that are put together become one bias",
    .anchors = {"Concat"},
    .propose = JoinBiases};

}  // namespace attnrun::opt
