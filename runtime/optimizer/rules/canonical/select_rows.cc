// SPDX-License-Identifier: Apache-2.0

// Models that classify a text select one row of each sample, for example the last token's;
// exporters write that in several ways. With x [B, S, D] and i [B]:
//
//   GatherND(x, Concat(Range(0, B) [B, 1], i [B, 1]))
//   Gather(Flatten(x) [B*S, D], i + Range(0, B) * S)      where i is an ArgMax over S
//   -->
//   GatherND(x, i [B, 1]) {batch_dims=1}
//
// Rows that are selected by indices, each in a tuple of its own, become a Gather:
//
//   GatherND(x, i [.., 1])  ->  Gather(x, Squeeze(i, -1))

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/positions.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// True if the numbers count 0, step, 2 * step, ... along an axis of extent `count`, and all other
// axes have extent 1.
bool Counts(Value* value, const SymInt& count, const SymInt& step, Facts& facts) {
  const auto positions = PositionsOf(value, facts);
  if (!positions.has_value() || !positions->offset().is_constant(0)) return false;
  ViewAxis counted;
  for (const ViewAxis& axis : positions->axes()) {
    if (!axis.empty() && !counted.empty()) return false;
    if (!axis.empty()) counted = axis;
  }
  return counted == ViewAxis{{count, step}};
}

bool FromTuples(Facts& facts, Node* node, Patch& patch) {
  const std::vector<SymInt>* dims = facts.DimsOf(node->input(0));
  const Node* tuples = ProducerOf(node->input(1), "Concat");
  if (AttributeOr<int64_t>(*node, "batch_dims", 0) != 0 || dims == nullptr) return false;
  if (tuples == nullptr || tuples->inputs().size() != 2) return false;
  if (facts.RankOf(tuples->output(0)) != 2 || facts.Extent(tuples->output(0), 1) != 2) return false;
  Value* index = tuples->input(1);
  if (dims->size() < 2 || facts.Extent(index, 1) != 1) return false;
  if (!Counts(tuples->input(0), (*dims)[0], 1, facts)) return false;
  return patch.Substitute(node, "GatherND", {node->input(0), index}, {{"batch_dims", int64_t{1}}});
}

bool FromSingleTuples(Facts& facts, Node* node, Patch& patch) {
  Value* tuples = node->input(1);
  if (AttributeOr<int64_t>(*node, "batch_dims", 0) != 0) return false;
  if (facts.Extent(tuples, -1) != 1) return false;
  Value* indices = patch.Op("Squeeze", {tuples, patch.Ints({-1})});
  return patch.Substitute(node, "Gather", {node->input(0), indices}, {{"axis", int64_t{0}}});
}

// True if the numbers [B] are at least 0 and below `extent`.
bool IsPlaceIn(Value* value, const SymInt& extent, Facts& facts) {
  const Node* node = value->producer();
  if (!IsOp(node, "ArgMax") && !IsOp(node, "ArgMin")) return false;
  const std::vector<SymInt>* dims = facts.DimsOf(node->input(0));
  if (dims == nullptr || dims->size() != 2 || !IsAlongLast(*node, 2)) return false;
  return (*dims)[1] == extent && AttributeOr<int64_t>(*node, "keepdims", 1) == 0;
}

// The tensor [B, S, D] that the matrix [B * S, D] was flattened from; null if there is none.
Value* RowsOf(Value* matrix, Facts& facts) {
  for (const Traced& traced : Trace(matrix, facts)) {
    const std::vector<SymInt>& dims = *facts.DimsOf(traced.base);
    if (dims.size() != 3) continue;
    if (View::Dense(dims).Reshaped({{dims[0] * dims[1], dims[2]}}) == traced.view) {
      return traced.base;
    }
  }
  return nullptr;
}

bool FromFlatRows(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  if (AttributeOr<int64_t>(*node, "axis", 0) != 0 || facts.RankOf(node->input(1)) != 1)
    return false;
  Value* rows = RowsOf(node->input(0), facts);
  if (rows == nullptr) return false;
  const std::vector<SymInt> dims = *facts.DimsOf(rows);
  for (const auto& [index, first] : ReadingsOf(ProducerOf(node->input(1), "Add"))) {
    if (facts.RankOf(index) != 1 || !IsPlaceIn(index, dims[1], facts)) continue;
    if (!Counts(first, dims[0], dims[1], facts)) continue;
    Value* column = patch.Op("Unsqueeze", {index, patch.Ints({-1})});
    return patch.Substitute(node, "GatherND", {rows, column}, {{"batch_dims", int64_t{1}}});
  }
  return false;
}

bool FromAnyTuples(RuleContext& context, Node* node, Patch& patch) {
  return FromTuples(context.facts, node, patch) || FromSingleTuples(context.facts, node, patch);
}

}  // namespace

extern const Rule kSelectRows = {
    .name = "select_rows",
    .summary = "A selection of one row of each sample becomes one GatherND",
    .starts = {{{"GatherND", FromAnyTuples}, {"Gather", FromFlatRows}}}};

}  // namespace attnrun::opt
