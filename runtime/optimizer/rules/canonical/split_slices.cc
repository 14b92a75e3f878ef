// SPDX-License-Identifier: Apache-2.0

// Some exporters write one Split of a value, others several Slices. Slices along one axis that do
// not overlap become one Split. Positions between the slices become pieces that nobody reads:
//
//   Slice(x, 0, 8), Slice(x, 8, 16), x [..., 24]  ->  Split(x, [8, 8, 8])
//
// A Gather of one position that keeps the axis counts as a Slice. A Split of which only one piece
// is read becomes a Slice.

#include <algorithm>
#include <map>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

struct Piece {
  // A Slice, or a Gather of one position that keeps the axis.
  Node* slice = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
};

// A Slice of steps of 1 along one axis of known extent; sets `axis` to that axis.
std::optional<Piece> AsPiece(Node* node, int64_t& axis, Facts& facts) {
  if (!IsOp(node, "Slice") || node->inputs().size() < 4) return std::nullopt;
  const auto start = KnownInt(node->input(1), facts);
  const auto end = KnownInt(node->input(2), facts);
  const auto along = KnownInt(node->input(3), facts);
  if (!start.has_value() || !end.has_value() || !along.has_value()) return std::nullopt;
  if (node->input(4) != nullptr && KnownInt(node->input(4), facts) != 1) return std::nullopt;
  const std::vector<SymInt>* dims = facts.DimsOf(node->input(0));
  const auto known = dims == nullptr ? std::nullopt : ops::KnownAxis(*along, dims->size());
  const auto extent = known.has_value() ? (*dims)[*known].constant() : std::nullopt;
  if (!extent.has_value()) return std::nullopt;
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + *extent : at, 0, *extent);
  };
  const Piece piece = {node, clamped(*start), clamped(*end)};
  if (piece.begin >= piece.end || piece.end - piece.begin == *extent) return std::nullopt;
  axis = static_cast<int64_t>(*known);
  return piece;
}

// A Gather of one position, which keeps the axis, along an axis of known extent.
std::optional<Piece> AsPosition(Node* node, int64_t& axis, Facts& facts) {
  if (!IsOp(node, "Gather") || facts.RankOf(node->input(1)) != 1) return std::nullopt;
  const std::vector<SymInt>* dims = facts.DimsOf(node->input(0));
  const auto index = KnownInt(node->input(1), facts);
  if (dims == nullptr || !index.has_value()) return std::nullopt;
  const auto along = ops::KnownAxis(AttributeOr<int64_t>(*node, "axis", 0), dims->size());
  const auto extent = along.has_value() ? (*dims)[*along].constant() : std::nullopt;
  if (!extent.has_value() || *extent < 2) return std::nullopt;
  const int64_t at = *index < 0 ? *index + *extent : *index;
  if (at < 0 || at >= *extent) return std::nullopt;
  axis = static_cast<int64_t>(*along);
  return Piece{node, at, at + 1};
}

absl::StatusOr<int> SplitInto(RuleContext& context, Value* value, int64_t axis,
                              std::vector<Piece> pieces) {
  absl::c_sort(pieces, [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  std::vector<int64_t> sizes;
  std::vector<size_t> outputs;
  int64_t at = 0;
  for (const Piece& piece : pieces) {
    if (piece.begin < at) return 0;
    if (piece.begin > at) sizes.push_back(piece.begin - at);
    outputs.push_back(sizes.size());
    sizes.push_back(piece.end - piece.begin);
    at = piece.end;
  }
  const auto extent = context.facts.Extent(value, static_cast<int>(axis));
  if (!extent.has_value()) return 0;
  if (at < *extent) sizes.push_back(*extent - at);
  Patch patch(context);
  const std::vector<Value*> parts = patch.Ops("Split", static_cast<int>(sizes.size()),
                                              {value, patch.Ints(sizes)}, {{"axis", axis}});
  for (size_t i = 0; i < pieces.size(); ++i) {
    patch.Supersede({pieces[i].slice});
    patch.Replace(pieces[i].slice->output(0), parts[outputs[i]]);
  }
  return patch.Apply();
}

// Rewrites a Split of which only one piece is read to a Slice.
absl::StatusOr<int> SliceInstead(RuleContext& context, Node* split) {
  Value* read = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t at = 0;
  const int64_t axis = AttributeOr<int64_t>(*split, "axis", 0);
  for (Value* piece : split->outputs()) {
    const auto size =
        piece == nullptr ? std::nullopt : context.facts.Extent(piece, static_cast<int>(axis));
    if (!size.has_value() || context.graph.IsOutput(piece)) return 0;
    if (!piece->consumers().empty()) {
      if (read != nullptr) return 0;
      read = piece;
      begin = at;
      end = at + *size;
    }
    at += *size;
  }
  if (read == nullptr || split->outputs().size() < 2) return 0;
  Patch patch(context);
  patch.Supersede({split});
  patch.Replace(read, patch.Op("Slice", {split->input(0), patch.Ints({begin}), patch.Ints({end}),
                                         patch.Ints({axis})}));
  return patch.Apply();
}

absl::StatusOr<int> SplitSlices(RuleContext& context) {
  int splits = 0;
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<Node*> order, context.graph.TopologicalOrder());
  for (Node* node : order) {
    if (!IsOp(node, "Split")) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, SliceInstead(context, node));
    splits += applied;
  }
  ATTNRUN_ASSIGN_OR_RETURN(order, context.graph.TopologicalOrder());
  std::vector<Value*> values = context.graph.inputs();
  for (const Node* node : order) {
    for (Value* output : node->outputs()) {
      if (output != nullptr) values.push_back(output);
    }
  }
  // Readers come before the values they read: a Slice that is removed takes its result with it.
  absl::c_reverse(values);
  for (Value* value : values) {
    std::map<int64_t, std::vector<Piece>> by_axis;
    for (Node* reader : value->consumers()) {
      int64_t axis = 0;
      if (reader->input(0) != value || context.graph.IsOutput(reader->output(0))) continue;
      auto piece = AsPiece(reader, axis, context.facts);
      if (!piece.has_value()) piece = AsPosition(reader, axis, context.facts);
      if (piece.has_value()) by_axis[axis].push_back(*piece);
    }
    for (const auto& [axis, pieces] : by_axis) {
      if (pieces.size() < 2) continue;
      ATTNRUN_ASSIGN_OR_RETURN(const int applied, SplitInto(context, value, axis, pieces));
      splits += applied;
    }
  }
  return splits;
}

}  // namespace

extern const Rule kSplitSlices = {
    .name = "split_slices",
    .summary = "Slices of one value that do not overlap become one Split",
    .run = SplitSlices};

}  // namespace attnrun::opt
