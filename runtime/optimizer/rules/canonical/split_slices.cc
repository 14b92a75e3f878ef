// SPDX-License-Identifier: Apache-2.0

// Some exporters write one Split of a value, others several Slices. Slices along one axis that do
// not overlap become one Split. Positions between the slices become pieces that nobody reads:
//
//   Slice(x, 0, 8), Slice(x, 8, 16), x [..., 24]  ->  Split(x, [8, 8, 8])
//
// A Gather of consecutive positions counts as a Slice. A Split of which only one piece is read
// becomes a Slice.

#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// Positions [begin, end) of an axis of the node's input, which the value has.
struct Piece {
  Node* node = nullptr;
  Value* value = nullptr;
  int64_t axis = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// Describes an output of a node as a piece of the node's input, the same in every run; nullopt if
// it is none.
std::optional<Piece> PieceOf(Node* node, Value* output, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(node->input(0));
  if (dims == nullptr || !MovesElements(*node)) return std::nullopt;
  const auto view = ApplyViewNode(*node, *output, View::Dense(*dims), facts);
  const auto part = view.has_value() ? view->PartOf(*dims) : std::nullopt;
  if (!part.has_value() || !(*dims)[part->axis].constant().has_value()) return std::nullopt;
  const auto first = part->first.constant();
  const auto count = part->count.constant();
  if (!first.has_value() || count.value_or(0) < 1) return std::nullopt;
  return Piece{node, output, part->axis, *first, *first + *count};
}

// The pieces of a value along an axis that its readers take; none if `node` is not the first of
// these readers, so that each set of pieces is found once.
std::vector<Piece> PiecesAlong(RuleContext& context, const Node* node, int64_t axis) {
  std::vector<Piece> pieces;
  for (Node* reader : node->input(0)->consumers()) {
    Value* output = reader->output(0);
    if (reader->input(0) != node->input(0) || reader->outputs().size() != 1) continue;
    if (context.graph.IsOutput(output)) continue;
    const auto piece = PieceOf(reader, output, context.facts);
    if (!piece.has_value() || piece->axis != axis) continue;
    if (pieces.empty() && reader != node) return {};
    pieces.push_back(*piece);
  }
  absl::c_sort(pieces, [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  return pieces;
}

bool SplitSlices(RuleContext& context, Node* node, Patch& patch) {
  const auto own = PieceOf(node, node->output(0), context.facts);
  if (!own.has_value()) return false;
  const std::vector<Piece> pieces = PiecesAlong(context, node, own->axis);
  if (pieces.size() < 2) return false;
  std::vector<int64_t> sizes;
  std::vector<size_t> outputs;
  int64_t at = 0;
  for (const Piece& piece : pieces) {
    if (piece.begin < at) return false;
    if (piece.begin > at) sizes.push_back(piece.begin - at);
    outputs.push_back(sizes.size());
    sizes.push_back(piece.end - piece.begin);
    at = piece.end;
  }
  const int64_t extent = *context.facts.Extent(node->input(0), static_cast<int>(own->axis));
  if (at < extent) sizes.push_back(extent - at);
  const std::vector<Value*> parts =
      patch.Ops("Split", static_cast<int>(sizes.size()), {node->input(0), patch.Ints(sizes)},
                {{"axis", own->axis}});
  for (size_t i = 0; i < pieces.size(); ++i) {
    patch.Supersede({pieces[i].node});
    patch.Replace(pieces[i].value, parts[outputs[i]]);
  }
  return true;
}

// Rewrites a Split of which only one piece is read to a Slice.
bool SliceInstead(RuleContext& context, Node* split, Patch& patch) {
  Value* read = nullptr;
  for (Value* piece : split->outputs()) {
    if (piece == nullptr || context.graph.IsOutput(piece)) return false;
    if (piece->consumers().empty()) continue;
    if (read != nullptr) return false;
    read = piece;
  }
  const auto piece = read == nullptr ? std::nullopt : PieceOf(split, read, context.facts);
  if (!piece.has_value()) return false;
  return patch.Substitute({split}, read,
                          patch.Op("Slice", {split->input(0), patch.Ints({piece->begin}),
                                             patch.Ints({piece->end}), patch.Ints({piece->axis})}));
}

}  // namespace

extern const Rule kSplitSlices = {
    .name = "split_slices",
    .summary = "Slices of one value that do not overlap become one Split",
    .starts = {{{"Slice", SplitSlices}, {"Gather", SplitSlices}, {"Split", SliceInstead}}}};

}  // namespace attnrun::opt
