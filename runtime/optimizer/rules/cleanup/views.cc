// SPDX-License-Identifier: Apache-2.0

// Exporters chain nodes that only move elements. A chain becomes one Reshape, one Transpose or one
// Gather where that does the same, or vanishes where it does nothing:
//
//   x -> Reshape -> Transpose(0,2,1,3) -> Transpose(0,2,1,3) -> Reshape -> y   becomes   x = y

#include <algorithm>
#include <iterator>

#include "absl/hash/hash.h"
#include "core/hash_map.h"
#include "core/status.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/positions.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The permutation of the base's axes that makes the view; nullopt if the view is none.
std::optional<std::vector<int64_t>> AsPermutation(const View& base, const View& view) {
  if (view.rank() != base.rank() || !(view.offset() == base.offset())) return std::nullopt;
  std::vector<int64_t> permutation;
  std::vector<bool> used(base.rank(), false);
  for (const ViewAxis& axis : view.axes()) {
    int found = 0;
    while (found < base.rank() && (used[found] || base.axes()[found] != axis)) ++found;
    if (found == base.rank()) return std::nullopt;
    used[found] = true;
    permutation.push_back(found);
  }
  return permutation;
}

// The first positions of an axis of a tensor of extents `dims` that the view has, if it has all of
// the other axes, in order; axes of extent 1 may come and go.
std::optional<AxisPart> FirstPositions(const View& view, const std::vector<SymInt>& dims) {
  for (int axis = 0; axis < std::ssize(dims); ++axis) {
    const auto count = SymInt::DivideExactly(Product(view.Dims()) * dims[axis], Product(dims));
    if (!count.has_value() || *count == dims[axis]) continue;
    const auto first = View::Dense(dims).Sliced(axis, 0, *count);
    if (first.has_value() && first->Reshaped(view.Dims()) == view) return AxisPart{axis, 0, *count};
  }
  return std::nullopt;
}

// Rewrites a Gather of the first elements of one axis as Slice and Reshape; null if it is not one.
Value* FirstElements(Patch& patch, Facts& facts, const Traced& traced, const Node& gather) {
  // A constant base is a table, whose rows should be gathered.
  if (traced.base->is_constant()) return nullptr;
  const auto part = FirstPositions(traced.view, *facts.DimsOf(traced.base));
  if (!part.has_value()) return nullptr;
  const std::vector<Value*> like = {gather.input(1), gather.input(0)};
  Value* end = ShapeOperand(patch, {part->count}, like);
  // The shape has all extents, so that a run with fewer elements still fails.
  Value* shape = ShapeOperand(patch, traced.view.Dims(), like);
  if (end == nullptr || shape == nullptr) return nullptr;
  Value* slice = patch.Op("Slice", {traced.base, patch.Ints({0}), end, patch.Ints({part->axis})});
  return patch.Op("Reshape", {slice, shape}, {{"allowzero", int64_t{1}}});
}

// The new axes of extent 1 that change extents `from` to `to`; nullopt if the two differ in more.
std::optional<std::vector<int64_t>> AddedAxes(absl::Span<const SymInt> from,
                                              absl::Span<const SymInt> to) {
  std::vector<int64_t> added;
  size_t kept = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    if (kept < from.size() && from[kept] == to[i]) {
      ++kept;
    } else if (to[i].is_constant(1)) {
      added.push_back(static_cast<int64_t>(i));
    } else {
      return std::nullopt;
    }
  }
  if (kept < from.size()) return std::nullopt;
  return added;
}

// One position of an axis, which is kept with extent 1, and all positions of the other axes.
struct Position {
  int axis;
  int64_t at;
  View view;

  Value* Picked(Patch& patch, Value* base) const {
    return patch.Op("Gather", {base, patch.Ints({at})}, {{"axis", int64_t{axis}}});
  }
};

// The positions of the base that begin at the offset of `begins`.
std::vector<Position> PositionsWhere(const View& base, const View& begins) {
  std::vector<Position> positions;
  for (int axis = 0; axis < base.rank(); ++axis) {
    const ViewAxis& steps = base.axes()[axis];
    const auto extent = base.Extent(axis).constant();
    if (steps.size() != 1 || !extent.has_value()) continue;
    const auto quotient = SymInt::DivideExactly(begins.offset() - base.offset(), steps[0].stride);
    const int64_t at = quotient.has_value() ? quotient->constant().value_or(-1) : -1;
    if (at < 0 || at >= *extent) continue;
    if (auto kept = base.Sliced(axis, at, 1)) positions.push_back({axis, at, *std::move(kept)});
  }
  return positions;
}

// Writes a view that has one position of an axis and all of the others as a Gather that keeps or
// drops the axis; null if the view is something else.
Value* OnePosition(Patch& patch, const Traced& traced, const View& base) {
  for (const Position& position : PositionsWhere(base, traced.view)) {
    if (position.view.Squeezed(position.axis) == traced.view) {
      Value* index = patch.Constant("index", Tensor::Of<int64_t>({}, {position.at}));
      return patch.Op("Gather", {traced.base, index}, {{"axis", int64_t{position.axis}}});
    }
    if (position.view == traced.view) return position.Picked(patch, traced.base);
  }
  return nullptr;
}

// Rewrites a Gather behind views that reorder or drop axes, where several Gathers may share them,
// as a Gather of what the views read and a Squeeze, which joins what follows more easily. Where a
// view reads the Gather, a Transpose takes the place of the Squeeze.
Value* PickedFirst(Patch& patch, Facts& facts, const Node& node, size_t unpicked,
                   const std::vector<Traced>& chain) {
  const bool picks = ops::TraitsOf(node).reads_indices;
  if (!picks && node.input(0)->consumers().size() > 1) return nullptr;
  for (size_t i = chain.size(); i-- > std::max<size_t>(unpicked, 3);) {
    const View base = View::Dense(*facts.DimsOf(chain[i].base));
    for (const Position& position : PositionsWhere(base, chain[i].view)) {
      const auto permutation = AsPermutation(position.view, chain[i].view);
      if (!picks && permutation.has_value()) {
        return patch.Transpose(position.Picked(patch, chain[i].base), *permutation);
      }
      if (!picks) continue;
      std::optional<View> squeezed = position.view;
      std::vector<int64_t> dropped;
      for (int axis = base.rank(); squeezed.has_value() && axis-- > 0;) {
        if (!squeezed->Extent(axis).is_constant(1)) continue;
        squeezed = squeezed->Squeezed(axis);
        dropped.insert(dropped.begin(), axis);
      }
      if (squeezed != chain[i].view) continue;
      return patch.Op("Squeeze", {position.Picked(patch, chain[i].base), patch.Ints(dropped)});
    }
  }
  return nullptr;
}

// How many of the chain's bases are followed by no node that reads indices.
size_t NumUnpicked(const Value* value, const std::vector<Traced>& chain) {
  size_t unpicked = 0;
  for (; unpicked < chain.size(); ++unpicked) {
    while (value != chain[unpicked].base) {
      const Node* node = value->producer();
      if (node == nullptr || !MovesElements(*node)) return chain.size();
      if (ops::TraitsOf(*node).reads_indices) return unpicked;
      value = node->input(0);
    }
  }
  return unpicked;
}

// The value that `traced` describes, written with at most one node; null if it takes more.
Value* Simplest(Patch& patch, Facts& facts, const Traced& traced, bool is_picked) {
  const std::vector<SymInt>& dims = *facts.DimsOf(traced.base);
  const View base = View::Dense(dims);
  if (base == traced.view) return traced.base;
  if (const auto permutation = AsPermutation(base, traced.view)) {
    return patch.Transpose(traced.base, *permutation);
  }
  const std::vector<SymInt> to = traced.view.Dims();
  if (base.Reshaped(to) == traced.view) {
    if (const auto axes = AddedAxes(dims, to)) {
      return patch.Op("Unsqueeze", {traced.base, patch.Ints(*axes)});
    }
    if (const auto target = ReshapeTarget(dims, to)) {
      return patch.Op("Reshape", {traced.base, patch.Ints(*target)});
    }
  }
  return is_picked ? OnePosition(patch, traced, base) : nullptr;
}

// The value in a simpler form; null if there is none. Tries the furthest base first. A chain of one
// node is changed only if it vanishes or becomes simpler.
Value* Simplified(RuleContext& context, Value* value, const std::vector<Traced>& chain,
                  Patch& patch) {
  const Node& node = *value->producer();
  const size_t unpicked = NumUnpicked(value, chain);
  for (size_t i = chain.size(); i-- > 1;) {
    const bool longer = chain[i].base != node.input(0) || ReadsIndices(node);
    if (!longer && View::Dense(*context.facts.DimsOf(chain[i].base)) != chain[i].view) continue;
    Value* simplest = Simplest(patch, context.facts, chain[i], i >= unpicked);
    if (simplest == nullptr && ReadsIndices(node)) {
      simplest = FirstElements(patch, context.facts, chain[i], node);
    }
    if (simplest != nullptr) return simplest;
  }
  return PickedFirst(patch, context.facts, node, unpicked, chain);
}

size_t HashOfAttributes(const Node& node) {
  size_t hash = 0;
  for (const auto& [name, attribute] : node.attributes()) {
    const auto* number = std::get_if<int64_t>(&attribute);
    const auto* numbers = std::get_if<std::vector<int64_t>>(&attribute);
    if (number != nullptr) hash = absl::HashOf(hash, name, *number);
    if (numbers != nullptr) hash = absl::HashOf(hash, name, *numbers);
  }
  return hash;
}

// A number for each value that differs, in all likelihood, once one of the nodes differs that a
// trace of the value follows. Addresses alone do not tell, since a new node may get that of a
// removed one.
class Fingerprints {
 public:
  size_t Of(const Value* value) {
    const size_t fingerprint = Compute(value, kMaxTraceDepth);
    known_[value] = fingerprint;
    return fingerprint;
  }

  // The graph has changed.
  void Forget() { known_.clear(); }

 private:
  size_t Compute(const Value* value, int depth) const {
    // Those of inputs are mostly known, so that long chains are not walked again for each node.
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    const Node* node = value->producer();
    if (node == nullptr || depth == 0) return 0;
    const ops::OpTraits& traits = ops::TraitsOf(*node);
    size_t above = HashOfAttributes(*node);
    if (traits.moves_elements) above = absl::HashOf(above, Compute(node->input(0), depth - 1));
    for (const Value* input : node->inputs()) {
      if (!traits.assembles || depth <= kMaxConcatDepth || input == nullptr) break;
      above = absl::HashOf(above, Compute(input, kMaxConcatDepth));
    }
    // A Loop may lack its first input.
    const Value* const first = node->inputs().empty() ? nullptr : node->input(0);
    const size_t readers = first == nullptr ? 0 : first->consumers().size();
    return absl::HashOf(node, node->op_type(), node->inputs(), readers, above);
  }

  HashMap<const Value*, size_t> known_;
};

// Traces values one after the other. In a long chain each trace extends the one before it.
class Tracer {
 public:
  const std::vector<Traced>& Trace(Value* value, Facts& facts) {
    const Node& node = *value->producer();
    const bool extends = !last_.empty() && node.input(0) == last_[0].base && MovesElements(node);
    last_ = extends ? ExtendedTrace(value, last_, facts) : opt::Trace(value, facts);
    return last_;
  }

  // The graph has changed.
  void Forget() { last_.clear(); }

 private:
  std::vector<Traced> last_;
};

absl::StatusOr<int> SimplifyViews(RuleContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  int simplified = 0;
  Fingerprints fingerprints;
  Tracer tracer;
  for (Node* node : order) {
    const ops::OpTraits& traits = ops::TraitsOf(*node);
    if (!traits.moves_elements && !traits.assembles) continue;
    for (Value* value : node->outputs()) {
      if (value == nullptr) continue;
      if (value->consumers().empty() && !context.graph.IsOutput(value)) continue;
      const size_t fingerprint = fingerprints.Of(value);
      size_t& settled = context.settled[value];
      if (settled == fingerprint) continue;
      Patch patch(context);
      Value* simple = Simplified(context, value, tracer.Trace(value, context.facts), patch);
      if (simple == nullptr) {
        settled = fingerprint;
        continue;
      }
      patch.Replace(value, simple);
      ATTNRUN_ASSIGN_OR_RETURN(const int applied, patch.Apply());
      simplified += applied;
      fingerprints.Forget();
      tracer.Forget();
    }
  }
  return simplified;
}

}  // namespace

extern const Rule kViews = {
    .name = "views",
    .summary =
        "A chain of nodes that only move elements becomes one Reshape, one Transpose or nothing",
    .run = SimplifyViews};

}  // namespace attnrun::opt
