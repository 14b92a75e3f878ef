// SPDX-License-Identifier: Apache-2.0

// A mixture of experts whose weights are stacked, and which all work on all tokens, as Optimum
// writes GPT-OSS. The router puts the weights of the chosen ones into rows of zeros. The operator
// leaves out products of finite numbers with 0:
//
//   x [T, H]                                          x   numbers [T, k]   weights [T, k]
//      |                                               \         |         /
//   repeated E times                                    \        |        /
//      |            ScatterElements(0, numbers,    ->    attnrun.Experts
//   layers [E, ...]     weights) [T, E]                         |
//       \             /                                         y
//        Mul [E, T, H]
//         |
//      ReduceSum over E

#include <algorithm>
#include <optional>
#include <vector>

#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/experts/expert_layers.h"
#include "optimizer/rules/experts/expert_routes.h"

namespace attnrun::opt {
namespace {

// The weights of the routes behind weights of all experts [E, ..., 1] of all tokens, which go with
// `rows` [E, ..., H].
std::optional<WeightRow> RoutesOf(const Value* weights, const Value* rows, Facts& facts) {
  const std::vector<SymInt>* own = facts.DimsOf(weights);
  const std::vector<SymInt>* other = facts.DimsOf(rows);
  if (own == nullptr || other == nullptr || own->size() != other->size() ||
      !own->back().is_constant(1) ||
      !std::equal(own->begin(), own->end() - 1, other->begin(), other->end() - 1)) {
    return std::nullopt;
  }
  while (weights->producer() != nullptr && ops::TraitsOf(*weights->producer()).keeps_order) {
    weights = weights->producer()->input(0);
  }
  const Node* turned = weights->producer();
  return IsTranspose(turned, {1, 0}) ? RowOfWeights(turned->input(0), facts) : std::nullopt;
}

// The tokens that `rows` repeat once for each expert; null if they are something else.
Value* RepeatedFor(int64_t experts, const Value* rows, Facts& facts) {
  const Node* node = rows->producer();
  if (IsOp(node, "Tile") && facts.RankOf(rows) == 2 &&
      KnownInts(node->input(1), facts) == std::vector<int64_t>{experts, 1}) {
    return node->input(0);
  }
  const bool expands = IsOp(node, "Expand") && facts.RankOf(rows) == 3 &&
                       facts.Extent(rows, 0) == experts && facts.RankOf(node->input(0)) == 3 &&
                       facts.Extent(node->input(0), 0) == 1 &&
                       (*facts.DimsOf(node->input(0)))[1] == (*facts.DimsOf(rows))[1];
  return expands ? node->input(0) : nullptr;
}

bool FuseStackedExperts(RuleContext& context, Node* sum, Patch& patch) {
  Facts& facts = context.facts;
  const int rank = facts.RankOf(sum->input(0));
  const auto experts = rank < 3 ? std::nullopt : facts.Extent(sum->input(0), 0);
  if (!experts.has_value() || OnlyAxis(*sum, rank, facts) != 0 ||
      AttributeOr<int64_t>(*sum, "keepdims", 1) != 0) {
    return false;
  }
  for (const auto& [rows, weights] : ScalingsOf(ProducerOf(sum->input(0), "Mul"))) {
    const auto routes = RoutesOf(weights, rows, facts);
    if (!routes.has_value()) continue;
    const bool below = AreBelow(routes->numbers, *experts, facts);
    if (!below || !AreDistinct(routes->numbers, facts)) {
      context.Miss(*sum, below ? kChosenTwice : kNumbersBeyond);
      return false;
    }
    const auto match = MatchExpert(rows, facts, *experts);
    Value* x = match.has_value() ? RepeatedFor(*experts, match->rows, facts) : nullptr;
    const std::vector<SymInt>* dims = facts.DimsOf(routes->numbers);
    if (x == nullptr || dims == nullptr) {
      context.Miss(*sum, match.has_value() ? "the experts read other rows than those of all tokens"
                                           : "the layers of the experts are of another form");
      return false;
    }
    Value* rows_of_x = ReshapeTo(patch, facts, x, {(*dims)[0], *facts.Extent(rows, -1)}, {x});
    if (rows_of_x == nullptr) return false;
    std::vector<Value*> inputs = {rows_of_x, routes->numbers, routes->weights};
    for (int64_t i = 0; i < *experts; ++i) AppendLayers(patch, *match, i, inputs);
    while (inputs.back() == nullptr) inputs.pop_back();
    Value* y = patch.Op("attnrun::Experts", inputs, match->attributes, sum->name());
    y = ReshapeTo(patch, facts, y, *facts.DimsOf(sum->output(0)), {sum->input(0)});
    return y != nullptr && patch.Substitute(sum, y);
  }
  return false;
}

}  // namespace

extern const Rule kStackedExperts = {
    .name = "experts",
    .summary = "Stacked experts, of which each token weights some with 0, become attnrun.Experts",
    .anchors = {"ReduceSum"},
    .propose = FuseStackedExperts};

}  // namespace attnrun::opt
