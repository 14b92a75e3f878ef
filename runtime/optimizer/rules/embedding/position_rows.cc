// SPDX-License-Identifier: Apache-2.0

// Models look up learned positions with a Gather by 0, 1, 2, ... A Slice of the constant table
// needs no such indices:
//
//   Range(0, S), perhaps tiled, or Slice([[0, 1, 2, ...]], S)
//        |
//   Gather(table [P, D]) [1, S, D]                     Slice(table, 0, S) [S, D]
//              \______                          -->          |
//   x [B, S, D] __ Add                          x [B, S, D] __ Add
//
// The positions may begin at another number. If a run has more positions than the table has rows,
// the sum now fails, where the Gather failed before.

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// Consecutive rows of a constant matrix, from `first` on.
struct TableRows {
  Value* table = nullptr;
  int64_t first = 0;
};

// The rows that the value repeats along all but its last two axes; nullopt if it is something else,
// or a Slice already.
std::optional<TableRows> RowsOf(Value* value, Facts& facts) {
  constexpr int64_t kLeastRows = 2;
  if (ProducerOf(value, "Slice") != nullptr) return std::nullopt;
  for (const auto& [base, view, scale] : Trace(value, facts)) {
    if (base == value || !base->is_constant() || !base->constant()->is_dense()) continue;
    if (base->constant()->rank() != 2 || view.rank() < 2) continue;
    const Shape& shape = base->constant()->shape();
    const auto first = SymInt::DivideExactly(view.offset(), shape[1]);
    const int64_t start = first.value_or(-1).constant().value_or(-1);
    // The rest of the table must be more than one row, since a single row would broadcast.
    if (start < 0 || shape[0] - start < kLeastRows) continue;
    const View whole = View::Dense(*facts.DimsOf(base));
    const auto rows = whole.Sliced(0, start, view.Extent(view.rank() - 2));
    if (rows.has_value() && rows->Expanded(view.Dims()) == view) return TableRows{base, start};
  }
  return std::nullopt;
}

// The rows of a constant matrix from `first` on.
Value* RowsFrom(Patch& patch, Value* matrix, int64_t first) {
  if (first == 0) return matrix;
  const Tensor& data = *matrix->constant();
  const int64_t columns = data.shape()[1];
  return patch.Constant(
      matrix->name(), data.View({data.shape()[0] - first, columns}, {columns, 1}, first * columns));
}

bool ReplaceOperand(Patch& patch, Facts& facts, Node* add, size_t side) {
  const auto found = RowsOf(add->input(side), facts);
  Value* x = add->input(1 - side);
  const std::vector<SymInt>* sum = facts.DimsOf(add->output(0));
  const std::vector<SymInt>* known = facts.DimsOf(x);
  if (!found.has_value() || sum == nullptr || known == nullptr || *known != *sum) return false;
  if (sum->size() < 2) return false;
  const std::vector<SymInt> dims = *sum;
  // The number of rows that the sum needs.
  const SymInt& rows = dims[dims.size() - 2];
  if (rows.is_constant(0) || rows.is_constant(1)) return false;
  const std::vector<SymInt> gathered = *facts.DimsOf(add->input(side));
  Value* end = ShapeOperand(patch, {rows}, {x});
  if (end == nullptr) return false;
  Value* table = RowsFrom(patch, found->table, found->first);
  Value* slice = patch.Op("Slice", {table, patch.Ints({0}), end, patch.Ints({0})});
  const auto sliced = facts.Of(slice).dims;
  // The Gather must give as many rows as the sum has, or as many as the table has from there on.
  const SymInt& count = gathered[gathered.size() - 2];
  const bool same = sliced.has_value() && (count == rows || count == (*sliced)[0]);
  if (!same || ops::BroadcastDims(dims, sliced) != dims) return false;
  std::vector<Value*> inputs = add->inputs();
  inputs[side] = slice;
  return patch.Rewrite(add, inputs, add->attributes());
}

bool SlicePositionTables(RuleContext& context, Node* node, Patch& patch) {
  return ReplaceOperand(patch, context.facts, node, 0) ||
         ReplaceOperand(patch, context.facts, node, 1);
}

}  // namespace

extern const Rule kPositionRows = {
    .name = "position_rows",
    .summary = "Rows looked up by position become a Slice of the table",
    .anchors = {"Add"},
    .propose = SlicePositionTables};

}  // namespace attnrun::opt
