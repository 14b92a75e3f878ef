// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/rotary/rotary_tables.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/quote.h"
#include "optimizer/analysis/axes.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rules/rotary/rotary_match.h"

namespace attnrun::opt {
namespace {

// Exporters write fewer steps from the angles to the tables.
constexpr int kMaxSteps = 16;

// The track of the last axis of a node's only output, if it is the last axis of all inputs that
// have it; nullopt if positions along it may see each other.
std::optional<ops::AxisTrack> LastAxisOf(const Node& node, Facts& facts) {
  if (node.outputs().size() != 1) return std::nullopt;
  const ops::AxisRule rule = AxesOf(node, facts);
  const ops::AxisTrack* track = rule.OfOutput(0, facts.RankOf(node.output(0)) - 1);
  for (size_t i = 0; track != nullptr && i < node.inputs().size(); ++i) {
    const bool has_axis = track->inputs[i] != ops::AxisTrack::kNone;
    if (has_axis && track->inputs[i] != facts.RankOf(node.input(i)) - 1) return std::nullopt;
  }
  return track == nullptr ? std::nullopt : std::optional(*track);
}

class RepetitionProof {
 public:
  RepetitionProof(PairLayout layout, Facts& facts) : layout_(layout), facts_(facts) {}

  bool Holds(Value* value, int steps) {
    const std::optional<int64_t> extent = facts_.Extent(value, -1);
    if (steps == 0 || !extent.has_value() || *extent % 2 != 0) return false;
    if (value->is_constant()) return OfConstant(*value->constant(), *extent);
    Value* source = nullptr;
    for (const Traced& traced : Trace(value, facts_)) {
      const ViewAxis& axis = traced.view.axes().back();
      if (Repeats(axis)) return true;
      if (traced.base != value && KeepsLastAxis(traced)) source = traced.base;
    }
    if (source != nullptr) return Holds(source, steps - 1);
    return value->producer() != nullptr && OfNode(*value->producer(), steps);
  }

 private:
  bool Repeats(const ViewAxis& axis) const {
    if (axis.empty()) return false;
    const ViewFactor& factor = layout_ == PairLayout::kHalves ? axis.front() : axis.back();
    return factor.stride.is_constant(0) && factor.size.constant().value_or(1) % 2 == 0;
  }

  bool KeepsLastAxis(const Traced& traced) const {
    const std::vector<SymInt>& dims = *facts_.DimsOf(traced.base);
    return !dims.empty() && View::Dense(dims).axes().back() == traced.view.axes().back();
  }

  bool OfConstant(const Tensor& table, int64_t extent) const {
    const auto elements = ToDoubles(table);
    if (!elements.ok()) return false;
    const bool halves = layout_ == PairLayout::kHalves;
    for (size_t row = 0; row < elements->size(); row += extent) {
      for (int64_t i = 0; i < extent / 2; ++i) {
        const size_t first = row + (halves ? i : 2 * i);
        if ((*elements)[first] != (*elements)[first + (halves ? extent / 2 : 1)]) return false;
      }
    }
    return true;
  }

  // A node that works on each position of the last axis alone repeats what its inputs repeat.
  bool OfNode(const Node& node, int steps) {
    const auto track = LastAxisOf(node, facts_);
    for (size_t i = 0; track.has_value() && i < node.inputs().size(); ++i) {
      const bool has_axis = track->inputs[i] != ops::AxisTrack::kNone;
      if (has_axis && !Holds(node.input(i), steps - 1)) return false;
    }
    return track.has_value();
  }

  const PairLayout layout_;
  Facts& facts_;
};

// The extents of x and of the table, the latter with as many axes as x.
struct Placement {
  std::vector<SymInt> x;
  std::vector<SymInt> table;
  // -1 if x has no axis of heads.
  int heads_axis = -1;
};

// True if an extent of the table broadcasts to that of x. Extents with different names may be equal
// in a run; the operator refuses a run in which they differ. An extent of x that is not known at
// all might be 1 and broadcast to the table's.
bool Broadcasts(const SymInt& from, const SymInt& to) {
  if (from == to || from.is_constant(1)) return true;
  return to.IsOfExtents() && !to.is_constant(1) &&
         !(from.constant().has_value() && to.constant().has_value());
}

std::optional<Placement> Place(Facts& facts, Value* x, Value* table, int64_t width) {
  const std::vector<SymInt>* x_dims = facts.DimsOf(x);
  const std::vector<SymInt>* dims = facts.DimsOf(table);
  if (x_dims == nullptr || dims == nullptr || dims->empty() || dims->size() > x_dims->size()) {
    return std::nullopt;
  }
  Placement placement = {*x_dims, *dims};
  const size_t rank = x_dims->size();
  if (rank != 3 && rank != 4) return std::nullopt;
  placement.table.insert(placement.table.begin(), rank - dims->size(), SymInt(1));
  if (!placement.table.back().is_constant(width)) return std::nullopt;
  for (size_t i = 0; i + 1 < rank; ++i) {
    if (!Broadcasts(placement.table[i], placement.x[i])) return std::nullopt;
  }
  if (rank == 3) return placement;
  placement.heads_axis = placement.table[1].is_constant(1) ? 1 : 2;
  if (!placement.table[placement.heads_axis].is_constant(1)) return std::nullopt;
  return placement;
}

// The table as [1 or B, S, width], without the axis of heads.
Value* WithoutHeads(Patch& patch, Facts& facts, Value* table, int heads_axis, int x_rank) {
  const int rank = facts.RankOf(table);
  const int axis = heads_axis - (x_rank - rank);
  const bool has_heads = heads_axis >= 0 && axis >= 0;
  if (has_heads) table = patch.Op("Squeeze", {table, patch.Ints({axis})});
  const int left = has_heads ? rank - 1 : rank;
  if (left == 3) return table;
  return patch.Op("Unsqueeze", {table, left == 2 ? patch.Ints({0}) : patch.Ints({0, 1})});
}

// Half of a table that was computed from angles concatenated with themselves: the same functions of
// the angles once. Null if the table was computed in another way.
Value* HalfByAngles(Patch& patch, Facts& facts, Value* table, int steps) {
  const Node* node = table->producer();
  if (node == nullptr || steps == 0) return nullptr;
  if (const Node* pair = PairConcat(table, facts)) {
    return pair->input(0) == pair->input(1) ? pair->input(0) : nullptr;
  }
  const auto track = LastAxisOf(*node, facts);
  if (!track.has_value() || !FollowsInputs(*node, *track, facts)) return nullptr;
  std::vector<Value*> inputs = node->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (track->inputs[i] == ops::AxisTrack::kNone) continue;
    inputs[i] = HalfByAngles(patch, facts, inputs[i], steps - 1);
    if (inputs[i] == nullptr) return nullptr;
  }
  return patch.Again(*node, inputs, node->attributes())[0];
}

Value* OnePerPair(Patch& patch, Facts& facts, Value* table, int64_t width, PairLayout layout) {
  const bool halves = layout == PairLayout::kHalves;
  Value* half = halves ? HalfByAngles(patch, facts, table, kMaxSteps) : nullptr;
  if (half != nullptr) return half;
  return patch.Op("Slice", {table, patch.Ints({0}), patch.Ints({halves ? width / 2 : width}),
                            patch.Ints({2}), patch.Ints({halves ? 1 : 2})});
}

}  // namespace

bool RepeatsAngles(Value* table, PairLayout layout, Facts& facts) {
  return RepetitionProof(layout, facts).Holds(table, kMaxSteps);
}

Value* EmitRotaryEmbedding(Patch& patch, Facts& facts, const Rotation& rotation,
                           absl::string_view name, std::string& why) {
  const std::optional<int64_t> rotated = facts.Extent(rotation.x, -1);
  if (!rotated.has_value() || *rotated % 2 != 0) {
    why = absl::StrCat("the head size of ", Quoted(rotation.x->name()), " is not known to be even");
    return nullptr;
  }
  const int64_t width = rotation.one_per_pair ? *rotated / 2 : *rotated;
  const auto placement = Place(facts, rotation.x, rotation.cos, width);
  const auto other = Place(facts, rotation.x, rotation.sin, width);
  if (!placement.has_value() || !other.has_value() || placement->table != other->table) {
    why = absl::StrCat("the tables ", Quoted(rotation.cos->name()), " and ",
                       Quoted(rotation.sin->name()), " are not the same for all heads of ",
                       Quoted(rotation.x->name()));
    return nullptr;
  }
  const int rank = static_cast<int>(placement->x.size());
  const int heads_axis = placement->heads_axis;
  std::vector<Value*> inputs = {rotation.x};
  for (Value* table : {rotation.cos, rotation.sin}) {
    inputs.push_back(WithoutHeads(patch, facts, table, heads_axis, rank));
    if (rotation.one_per_pair) continue;
    inputs.back() = OnePerPair(patch, facts, inputs.back(), width, rotation.layout);
  }
  if (rotation.backwards) inputs.back() = patch.Op("Neg", {inputs.back()});
  AttributeMap attributes;
  attributes["interleaved"] = int64_t{rotation.layout == PairLayout::kNeighbors};
  if (heads_axis == 1) return patch.Op("RotaryEmbedding", inputs, attributes, name);
  // In this case x is [B, S, N * R].
  const std::vector<SymInt>& x = placement->x;
  const std::optional<int64_t> heads = heads_axis == 2 ? x[2].constant() : 1;
  if (!heads.has_value()) {
    why = absl::StrCat("the number of heads of ", Quoted(rotation.x->name()), " is not known");
    return nullptr;
  }
  attributes["num_heads"] = *heads;
  if (heads_axis < 0) return patch.Op("RotaryEmbedding", inputs, attributes, name);
  inputs[0] = ReshapeTo(patch, rotation.x, {x[0], x[1], x[2] * x[3]}, {rotation.x});
  Value* merged = patch.Op("RotaryEmbedding", inputs, attributes, name);
  return ReshapeTo(patch, merged, x, {rotation.x});
}

}  // namespace attnrun::opt
