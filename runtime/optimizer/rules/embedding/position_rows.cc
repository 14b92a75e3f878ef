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
#include "optimizer/analysis/positions.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The first position if they grow by one along the last axis and repeat along the others.
std::optional<int64_t> FirstOfCount(const View& positions) {
  if (positions.rank() == 0) return std::nullopt;
  for (int i = 0; i + 1 < positions.rank(); ++i) {
    const ViewAxis& axis = positions.axes()[i];
    if (axis.size() > 1 || (axis.size() == 1 && !axis[0].stride.is_constant(0))) {
      return std::nullopt;
    }
  }
  const ViewAxis& last = positions.axes().back();
  if (last.size() != 1 || !last[0].stride.is_constant(1)) return std::nullopt;
  return positions.offset().constant();
}

// The ids before ONNX Runtime's optimizer converted them to int32. Ids that wrap around count from
// 2^31 on, beyond the rows of any table.
Value* BeforeNarrowing(Value* ids, Facts& facts) {
  const Node* cast = ids->producer();
  const bool narrows = IsOp(cast, "Cast") && facts.TypeOf(ids) == DataType::kInt32 &&
                       facts.TypeOf(cast->input(0)) == DataType::kInt64;
  return narrows ? cast->input(0) : ids;
}

// The positions that a Gather along axis 0, or a GatherND along it alone, selects.
std::optional<View> PositionsOfGather(const Node* gather, Facts& facts) {
  if (IsOp(gather, "Gather") && AttributeOr<int64_t>(*gather, "axis", 0) == 0) {
    return PositionsOf(BeforeNarrowing(gather->input(1), facts), facts);
  }
  if (!IsOp(gather, "GatherND") || AttributeOr<int64_t>(*gather, "batch_dims", 0) != 0) {
    return std::nullopt;
  }
  const auto tuple = TuplePositionsOf(gather->input(1), facts);
  return tuple.has_value() && tuple->size() == 1 ? std::optional<View>((*tuple)[0]) : std::nullopt;
}

// A Gather of rows of a constant matrix by consecutive positions, from `first` on.
const Node* PositionGather(const Value* value, Facts& facts, int64_t& first) {
  constexpr int64_t kLeastRows = 2;
  const Node* gather = value->producer();
  const auto positions = PositionsOfGather(gather, facts);
  if (!positions.has_value()) return nullptr;
  const Value* table = gather->input(0);
  if (!table->is_constant() || table->constant()->rank() != 2) return nullptr;
  if (!table->constant()->is_dense()) return nullptr;
  const auto start = FirstOfCount(*positions);
  if (!start.has_value() || *start < 0) return nullptr;
  // The rest of the table must be more than one row, since a single row would broadcast.
  if (table->constant()->shape()[0] - *start < kLeastRows) return nullptr;
  first = *start;
  return gather;
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
  int64_t first = 0;
  const Node* gather = PositionGather(add->input(side), facts, first);
  Value* x = add->input(1 - side);
  const std::vector<SymInt>* sum = facts.DimsOf(add->output(0));
  const std::vector<SymInt>* known = facts.DimsOf(x);
  if (gather == nullptr || sum == nullptr || known == nullptr || *known != *sum) return false;
  if (sum->size() < 2) return false;
  const std::vector<SymInt> dims = *sum;
  // The number of rows that the sum needs.
  const SymInt rows = dims[dims.size() - 2];
  if (rows.is_constant(0) || rows.is_constant(1)) return false;
  const std::vector<SymInt> gathered = *facts.DimsOf(gather->output(0));
  Value* end = ShapeOperand(patch, facts, {rows}, {x});
  if (end == nullptr) return false;
  Value* table = RowsFrom(patch, gather->input(0), first);
  Value* slice = patch.Op("Slice", {table, patch.Ints({0}), end, patch.Ints({0})});
  if (!patch.status().ok()) return false;
  const auto sliced = facts.Of(slice).dims;
  // The Gather must give as many rows as the sum has, or as many as the table has from there on.
  const SymInt& count = gathered[gathered.size() - 2];
  const bool same = sliced.has_value() && (count == rows || count == (*sliced)[0]);
  if (!same || ops::BroadcastDims(dims, sliced) != dims) return false;
  std::vector<Value*> inputs = add->inputs();
  inputs[side] = slice;
  patch.Rewrite(add, inputs, add->attributes());
  return true;
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
