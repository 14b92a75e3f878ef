// SPDX-License-Identifier: Apache-2.0

// A mixture of experts that computes all of them at once. Each row may gather the weights of its
// expert, as transformers writes it for exporters ("batched_mm"). The copies of the weights can be
// larger than the model:
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
// Or the weights are stacked, and all experts work on all tokens, as Optimum writes GPT-OSS. The
// router puts the weights of the chosen ones into rows of zeros. The operator leaves out products
// of finite numbers with 0:
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
//
// PyTorch widens halves before it adds them up.

#include <algorithm>
#include <optional>
#include <string>
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

// All experts, which work on some rows at once.
struct Batch {
  ExpertMatch experts = {};
  int64_t count = 0;
  // The routes of the tokens, perhaps in another shape than [T, k].
  Value* numbers = nullptr;
  Value* weights = nullptr;
  // T and k.
  std::vector<SymInt> routes = {};
  // The rows' extents before H, and how far the token of a row is from that of the next one.
  std::vector<SymInt> repeats = {};
  std::vector<SymInt> steps = {};
};

// True if there is one weight for each of the rows [..., H].
bool AreWeightsOf(const Value* weights, const Value* rows, Facts& facts) {
  const std::vector<SymInt>* own = facts.DimsOf(weights);
  const std::vector<SymInt>* other = facts.DimsOf(rows);
  return own != nullptr && other != nullptr && own->size() == other->size() &&
         own->back().is_constant(1) && std::equal(own->begin(), own->end() - 1, other->begin());
}

// Rows whose constants are gathered, summed along the axis before the last.
std::optional<Batch> FindGathered(const Node& sum, Value* rows, Value* weights, Facts& facts) {
  const std::vector<SymInt> dims = *facts.DimsOf(sum.input(0));
  const auto rank = static_cast<int>(dims.size());
  auto match = MatchGatheredExperts(rows, facts);
  if (!match.has_value() || OnlyAxis(sum, rank, facts) != rank - 2) return std::nullopt;
  Batch batch = {.experts = *std::move(match)};
  batch.count = batch.experts.layers[1].weight.shape()[0];
  batch.numbers = batch.experts.numbers;
  batch.weights = InOrder(weights);
  batch.routes = {Product({dims.begin(), dims.end() - 2}), dims[rank - 2]};
  batch.repeats = batch.routes;
  batch.steps = {1, 0};
  return batch;
}

// Rows [E, ..., H] of stacked experts, summed along the first axis, or the reason in `why`.
std::optional<Batch> FindStacked(const Node& sum, Value* rows, Value* weights, Facts& facts,
                                 std::string& why) {
  const auto count = facts.Extent(rows, 0);
  if (!count.has_value() || facts.Extent(sum.input(0), 0) != count) return std::nullopt;
  const Node* by_expert = InOrder(weights)->producer();
  const bool is_first = OnlyAxis(sum, facts.RankOf(sum.input(0)), facts) == 0;
  if (!is_first || !IsTranspose(by_expert, {1, 0})) return std::nullopt;
  const auto routes = RowOfWeights(by_expert->input(0), facts);
  const auto* dims = routes.has_value() ? facts.DimsOf(routes->numbers) : nullptr;
  if (dims == nullptr) return std::nullopt;
  if (!AreDistinct(routes->numbers, facts)) {
    why = kChosenTwice;
    return std::nullopt;
  }
  auto match = MatchExpert(rows, facts, *count);
  if (!match.has_value()) {
    why = "the layers of the experts are of another form";
    return std::nullopt;
  }
  return Batch{.experts = *std::move(match),
               .count = *count,
               .numbers = routes->numbers,
               .weights = routes->weights,
               .routes = *dims,
               .repeats = {*count, (*dims)[0]},
               .steps = {0, 1}};
}

// The tokens [T, H], perhaps with more axes, that the experts' rows repeat; null if they are
// something else.
Value* TokensOf(const Batch& batch, int64_t hidden, Facts& facts) {
  std::vector<SymInt> dims = batch.repeats;
  std::vector<SymInt> steps;
  for (const SymInt& step : batch.steps) steps.push_back(step * hidden);
  dims.emplace_back(hidden);
  steps.emplace_back(1);
  const View repeated = View::Counting(0, dims, steps);
  const std::vector<SymInt> tokens = {batch.routes[0], hidden};
  for (const Traced& traced : Trace(batch.experts.rows, facts)) {
    const View base = View::Dense(*facts.DimsOf(traced.base));
    if (traced.view.Reshaped(dims) == repeated && base.Reshaped(tokens).has_value()) {
      return traced.base;
    }
  }
  return nullptr;
}

// The halves that a Cast widens to floats; other values as they are.
Value* BeforeWidening(Value* value, Facts& facts) {
  const Node* cast = ProducerOf(value, "Cast");
  const bool widens = cast != nullptr && IsWidening(*cast, facts);
  return widens ? InOrder(cast->input(0)) : value;
}

bool Write(RuleContext& context, Node* sum, const Batch& batch, Patch& patch, std::string& why) {
  Facts& facts = context.facts;
  const ExpertLayerMatch& first = batch.experts.layers[0];
  const int64_t hidden = first.weight.shape()[first.transposed ? 2 : 1];
  Value* x = TokensOf(batch, hidden, facts);
  if (x == nullptr || !AreBelow(batch.numbers, batch.count, facts)) {
    why = x == nullptr ? "the experts read other rows than those of all tokens" : kNumbersBeyond;
    return false;
  }
  std::vector<Value*> inputs = {
      ReshapeTo(patch, x, {batch.routes[0], hidden}, {x}),
      ReshapeTo(patch, batch.numbers, batch.routes, {batch.numbers}),
      ReshapeTo(patch, batch.weights, batch.routes, {batch.numbers, batch.weights})};
  if (absl::c_linear_search(inputs, nullptr)) return false;
  for (int64_t i = 0; i < batch.count; ++i) AppendLayers(patch, batch.experts, i, inputs);
  while (inputs.back() == nullptr) inputs.pop_back();
  Value* y = patch.Op("attnrun::Experts", inputs, batch.experts.attributes, sum->name());
  y = patch.Cast(y, facts.TypeOf(sum->output(0)));
  return patch.Substitute(sum, ReshapeTo(patch, y, *facts.DimsOf(sum->output(0)), {x}));
}

bool FuseBatchedExperts(RuleContext& context, Node* sum, Patch& patch) {
  Facts& facts = context.facts;
  if (facts.RankOf(sum->input(0)) < 3) return false;
  std::string why;
  Value* results = BeforeWidening(InOrder(sum->input(0)), facts);
  for (const auto& [rows, weights] : ScalingsOf(ProducerOf(results, "Mul"))) {
    if (!AreWeightsOf(weights, rows, facts)) continue;
    auto batch = FindStacked(*sum, rows, weights, facts, why);
    if (!batch.has_value() && why.empty()) batch = FindGathered(*sum, rows, weights, facts);
    if (batch.has_value() && Write(context, sum, *batch, patch, why)) return true;
  }
  if (!why.empty()) context.Miss(*sum, why);
  return false;
}

}  // namespace

extern const Rule kBatchedExperts = {
    .name = "experts",
    .summary =
        "Experts that all work at once, by gathered or stacked weights, become attnrun.Experts",
    .anchors = {"ReduceSum"},
    .propose = FuseBatchedExperts};

}  // namespace attnrun::opt
