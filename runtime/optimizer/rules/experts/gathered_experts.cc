// SPDX-License-Identifier: Apache-2.0

// A mixture of experts that gathers the weights of its expert for each row, as transformers writes
// it for exporters ("batched_mm"). The copies of the weights can be larger than the model:
//
//   x [T, H]        numbers [T, k]
//      |                  |                              x  numbers [T, k]  weights [T, k]
//   each row k times   Gather from W [E, ...]             \       |        /
//      |                  |                       ->     attnrun.Experts
//   layers: MatMul of [T k, 1, H] and [T k, H, N]                |
//      |                                                         y
//     Mul (weights [T k, 1])
//      |
//   [T, k, H] -> ReduceSum over k
//
// PyTorch widens halves before it adds them up.

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/experts/expert_layers.h"
#include "optimizer/rules/experts/expert_routes.h"

namespace attnrun::opt {
namespace {

// The routes of all tokens: k for each.
struct RouteCounts {
  SymInt tokens;
  SymInt per_token;
};

// The extents of what is summed, [..., k, H]; nullopt if the node sums over another axis.
std::optional<RouteCounts> CountsSummedBy(const Node& sum, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(sum.input(0));
  const int rank = dims == nullptr ? 0 : static_cast<int>(dims->size());
  if (rank < 3 || OnlyAxis(sum, rank, facts) != rank - 2) return std::nullopt;
  RouteCounts routes = {1, (*dims)[rank - 2]};
  for (int i = 0; i + 2 < rank; ++i) routes.tokens = routes.tokens * (*dims)[i];
  return routes;
}

// True if there is one weight for each of the rows [..., H].
bool AreWeightsOf(const Value* weights, const Value* rows, Facts& facts) {
  const std::vector<SymInt>* own = facts.DimsOf(weights);
  const std::vector<SymInt>* other = facts.DimsOf(rows);
  return own != nullptr && other != nullptr && own->size() == other->size() &&
         own->back().is_constant(1) && std::equal(own->begin(), own->end() - 1, other->begin());
}

// The tokens [T, H], perhaps with more axes, of which `rows` has each one k times; null if it is
// something else.
Value* RepeatedTokens(Value* rows, const RouteCounts& routes, int64_t hidden, Facts& facts) {
  const std::vector<SymInt> dims = {routes.tokens, routes.per_token, hidden};
  const std::vector<SymInt> steps = {hidden, 0, 1};
  const View repeated = View::Counting(0, dims, steps);
  const std::vector<SymInt> all = {routes.tokens, hidden};
  for (const Traced& traced : Trace(rows, facts)) {
    const std::vector<SymInt>* base = facts.DimsOf(traced.base);
    const auto view = traced.view.Reshaped(dims);
    if (base != nullptr && view == repeated && View::Dense(*base).Reshaped(all).has_value()) {
      return traced.base;
    }
  }
  return nullptr;
}

// The halves that a Cast widens to floats; other values as they are.
Value* BeforeWidening(Value* value, Facts& facts) {
  const Node* cast = ProducerOf(value, "Cast");
  if (cast == nullptr || facts.TypeOf(value) != DataType::kFloat) return value;
  const DataType from = facts.TypeOf(cast->input(0));
  const bool widens = from == DataType::kFloat16 || from == DataType::kBfloat16;
  return widens ? InOrder(cast->input(0)) : value;
}

bool FuseGatheredExperts(RuleContext& context, Node* sum, Patch& patch) {
  Facts& facts = context.facts;
  const auto routes = CountsSummedBy(*sum, facts);
  if (!routes.has_value()) return false;
  Value* results = BeforeWidening(InOrder(sum->input(0)), facts);
  for (const auto& [rows, weights] : ScalingsOf(ProducerOf(results, "Mul"))) {
    if (!AreWeightsOf(weights, rows, facts)) continue;
    const auto match = MatchGatheredExperts(rows, facts);
    if (!match.has_value()) continue;
    const int64_t experts = match->layers[1].weight.shape()[0];
    const ExpertLayerMatch& first = match->layers[0];
    const int64_t hidden = first.weight.shape()[first.transposed ? 2 : 1];
    Value* x = RepeatedTokens(match->rows, *routes, hidden, facts);
    if (x == nullptr || !AreBelow(match->numbers, experts, facts)) {
      context.Miss(*sum, x == nullptr ? "the experts read other rows than those of all tokens"
                                      : kNumbersBeyond);
      return false;
    }
    const std::vector<SymInt> matrix = {routes->tokens, routes->per_token};
    std::vector<Value*> inputs = {
        ReshapeTo(patch, facts, x, {routes->tokens, hidden}, {x}),
        ReshapeTo(patch, facts, match->numbers, matrix, {match->numbers}),
        ReshapeTo(patch, facts, InOrder(weights), matrix, {match->numbers, weights})};
    if (absl::c_linear_search(inputs, nullptr)) return false;
    for (int64_t i = 0; i < experts; ++i) AppendLayers(patch, *match, i, inputs);
    while (inputs.back() == nullptr) inputs.pop_back();
    Value* y = patch.Op("attnrun::Experts", inputs, match->attributes, sum->name());
    const DataType type = facts.TypeOf(sum->output(0));
    if (type != facts.TypeOf(results)) {
      y = patch.Op("Cast", {y}, {{"to", static_cast<int64_t>(type)}});
    }
    y = ReshapeTo(patch, facts, y, *facts.DimsOf(sum->output(0)), {x});
    return y != nullptr && patch.Substitute(sum, y);
  }
  return false;
}

}  // namespace

extern const Rule kGatheredExperts = {
    .name = "experts",
    .summary = "Experts whose weights are gathered for each row become attnrun.Experts",
    .anchors = {"ReduceSum"},
    .propose = FuseGatheredExperts};

}  // namespace attnrun::opt
