// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/rotary/rotary_tables.h"

#include <array>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/quote.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"

namespace attnrun::opt {
namespace {

// Exporters write fewer steps from the angles to the tables.
constexpr int kMaxSteps = 16;

bool IsOneOf(const Node& node, absl::Span<const absl::string_view> ops) {
  return node.domain().empty() && absl::c_linear_search(ops, node.op_type());
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

  // Follows functions of each element, and lookups of rows in a table.
  bool OfNode(const Node& node, int steps) {
    static constexpr absl::string_view kUnary[] = {"Cos", "Sin", "Cast", "Neg", "Identity"};
    static constexpr absl::string_view kBinary[] = {"Mul", "Add", "Sub", "Div"};
    if (IsOneOf(node, kUnary)) return Holds(node.input(0), steps - 1);
    if (IsOneOf(node, {"Gather"})) {
      const int64_t along = AttributeOr<int64_t>(node, "axis", 0);
      const int rank = facts_.RankOf(node.input(0));
      return along >= 0 && along < rank - 1 && Holds(node.input(0), steps - 1);
    }
    if (!IsOneOf(node, kBinary)) return false;
    return absl::c_all_of(node.inputs(), [&](Value* operand) {
      return facts_.RankOf(operand) == 0 || facts_.Extent(operand, -1) == 1 ||
             Holds(operand, steps - 1);
    });
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
  int left = rank;
  if (heads_axis >= 0 && axis >= 0) {
    Value* squeezed = nullptr;
    for (const Traced& traced : Trace(table, facts)) {
      const std::vector<SymInt>& dims = *facts.DimsOf(traced.base);
      if (static_cast<int>(dims.size()) != rank - 1) continue;
      if (View::Dense(dims).Unsqueezed(axis) == traced.view) squeezed = traced.base;
    }
    table = squeezed != nullptr ? squeezed : patch.Op("Squeeze", {table, patch.Ints({axis})});
    --left;
  }
  if (left == 3) return table;
  return patch.Op("Unsqueeze", {table, left == 2 ? patch.Ints({0}) : patch.Ints({0, 1})});
}

// Half of a table that was computed from angles concatenated with themselves: the same functions of
// the angles once. Null if the table was computed in another way.
Value* HalfByAngles(Patch& patch, Facts& facts, Value* table, int steps) {
  const Node* node = table->producer();
  if (node == nullptr || steps == 0) return nullptr;
  if (IsOneOf(*node, {"Concat"})) {
    const int64_t axis = AttributeOr<int64_t>(*node, "axis", 0);
    const bool last = axis == -1 || axis == facts.RankOf(table) - 1;
    const bool twice = node->inputs().size() == 2 && node->input(0) == node->input(1);
    return last && twice ? node->input(0) : nullptr;
  }
  double factor = 1;
  Value* scaled = ScaledOperand(*node, factor);
  if (scaled == nullptr && !IsOneOf(*node, {"Cos", "Sin", "Cast"})) return nullptr;
  if (scaled != nullptr && facts.RankOf(scaled) != facts.RankOf(table)) return nullptr;
  Value* half = HalfByAngles(patch, facts, scaled != nullptr ? scaled : node->input(0), steps - 1);
  if (half == nullptr) return nullptr;
  std::vector<Value*> inputs = node->inputs();
  inputs[inputs[0] == scaled || scaled == nullptr ? 0 : 1] = half;
  return patch.Op(node->op_type(), inputs, node->attributes());
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
  inputs[0] = ReshapeTo(patch, facts, rotation.x, {x[0], x[1], x[2] * x[3]}, {rotation.x});
  Value* merged = patch.Op("RotaryEmbedding", inputs, attributes, name);
  return ReshapeTo(patch, facts, merged, x, {rotation.x});
}

}  // namespace attnrun::opt
