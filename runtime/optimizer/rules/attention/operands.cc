// SPDX-License-Identifier: Apache-2.0

// Merged projections leave a Split and other views before an attention. The layouts of
// attnrun.Attention can express these views, so that Q, K and V are read in place, without copies:
//
//        Linear [B,S,3D]                          Linear [B,S,3D]
//          |                                      |     |     |
//        Split                          ->       Attention {q_layout = "b s (n:12 h:64)",
//      /   |   \                                            k_layout = "b s 768+(n:12 h:64)", ...}
//     Attention {q_layout = "b s (n:12 h:64)", ...}
//
// Where a model widens 16-bit operands after such views, the values before the views are widened
// instead.

#include <array>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "ops/attention/fused_attention.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/head_views.h"

namespace attnrun::opt {
namespace {

constexpr size_t kQuery = ops::FusedAttention::kQuery;
constexpr size_t kValue = ops::FusedAttention::kValue;

// A value of the graph, and the layout by which Q, K or V is read from it.
struct HeadView {
  Value* value = nullptr;
  ops::HeadLayout layout;
  double scale = 1;
  // The number of heads that the layout has.
  SymInt heads;
  // If not empty, the extents to which the value must be reshaped before the layout fits.
  std::vector<SymInt> reshaped = {};
};

// How to count heads of K and V that several heads of Q share.
enum class SharedHeads { kOnce, kRepeated };

// True if neighbours along the axis are the same element.
bool Repeats(const ViewAxis& axis) { return !axis.empty() && axis.back().stride.is_constant(0); }

// The operand whose heads are the view [b, s, n, h] of the base of `traced`; nullopt if no layout
// expresses it.
std::optional<HeadView> AsOperand(const Traced& traced, View heads, size_t operand,
                                  SharedHeads shared, Facts& facts) {
  constexpr int kPositionAxis = 1;
  constexpr int kHeadAxis = 2;
  // The operator counts queries and keys by the operand, which must therefore hold each of them.
  if (Repeats(heads.axes()[kPositionAxis])) return std::nullopt;
  if (operand != kQuery && shared == SharedHeads::kOnce) heads = heads.WithoutRepeats(kHeadAxis);
  const ViewAxis& axis = heads.axes()[kHeadAxis];
  const bool repeats = Repeats(axis);
  // The axis of heads is left out where all heads are alike. Where only the heads of a group are,
  // each needs its place.
  if (repeats && axis.size() > 1) return std::nullopt;
  if (repeats && operand == kQuery) heads = heads.WithoutRepeats(kHeadAxis);
  if (repeats && shared == SharedHeads::kRepeated) return std::nullopt;
  auto layout = LayoutOf(heads, *facts.DimsOf(traced.base));
  if (!layout.has_value()) return std::nullopt;
  return HeadView{traced.base, *std::move(layout), traced.scale, heads.Extent(kHeadAxis)};
}

// Undoes half of a Reshape that both arranges rows and splits them into heads: the layout can
// split, so the value need only be [b, s, D], not [b, s, n, h]. Q, K and V that share rows can then
// share that Reshape. Other operands stay as they are.
HeadView OfWholeRows(HeadView operand, Facts& facts) {
  const Node* reshape = operand.value->producer();
  if (reshape == nullptr || !ops::TraitsOf(*reshape).keeps_order) return operand;
  const std::vector<SymInt>* from = facts.DimsOf(reshape->input(0));
  const std::vector<SymInt> heads = *facts.DimsOf(operand.value);
  if (from == nullptr || from->empty() || operand.layout.ToString() != "b s n h") return operand;
  const SymInt channels = heads[2] * heads[3];
  if (from->back() != channels) return operand;
  const std::vector<SymInt> rows = {heads[0], heads[1], channels};
  const auto view = View::Dense(rows).Reshaped(heads);
  auto layout = view.has_value() ? LayoutOf(*view, rows) : std::nullopt;
  if (!layout.has_value() || !ReshapeTarget(*from, rows).has_value()) return operand;
  operand.value = reshape->input(0);
  operand.layout = *std::move(layout);
  operand.reshaped = rows;
  return operand;
}

// True if the operand is that value, widened, already.
bool IsWidened(const Value& operand, const Value* value) {
  return IsOp(operand.producer(), "Cast") && operand.producer()->input(0) == value;
}

// The operand read from the furthest value that one layout can read, which may be the one it is
// read from now; nullopt if there is none.
std::optional<HeadView> FurthestUp(const Node& node, size_t operand, SharedHeads shared,
                                   bool widening, Facts& facts) {
  Value* input = node.input(operand);
  const auto layout = ops::HeadLayout::Parse(LayoutOf(node, operand));
  if (!layout.ok()) return std::nullopt;
  // A constant factor on Q or K scales the scores; one on V does not.
  const std::vector<Traced> chain =
      Trace(input, facts, {.factors = operand != kValue, .widening = widening});
  for (size_t i = chain.size(); i-- > 0;) {
    if (IsWidened(*input, chain[i].base)) continue;
    auto heads = ViewOf(*layout, chain[i].view);
    if (!heads.has_value()) continue;
    auto further = AsOperand(chain[i], *std::move(heads), operand, shared, facts);
    if (further.has_value()) return OfWholeRows(*std::move(further), facts);
  }
  return std::nullopt;
}

using HeadViews = std::array<std::optional<HeadView>, 3>;

HeadViews FurthestUp(const Node& node, bool widening, Facts& facts) {
  HeadViews furthest;
  const auto find = [&](SharedHeads shared) {
    for (size_t i = 0; i < furthest.size(); ++i) {
      furthest[i] = FurthestUp(node, i, shared, widening, facts);
    }
  };
  find(SharedHeads::kOnce);
  // K and V must count shared heads in the same way.
  const auto& k = furthest[1];
  const auto& v = furthest[2];
  if (!k.has_value() || !v.has_value() || k->heads != v->heads) find(SharedHeads::kRepeated);
  return furthest;
}

// True if the attention reads every element of each value that is to be widened.
bool WidensNothingElse(const Node& node, const HeadViews& operands, Facts& facts) {
  for (const auto& operand : operands) {
    if (!operand.has_value() || facts.TypeOf(operand->value) == facts.TypeOf(node.input(0))) {
      continue;
    }
    SymInt read;
    for (const auto& other : operands) {
      if (!other.has_value() || other->value != operand->value) continue;
      const std::vector<SymInt>& dims =
          other->reshaped.empty() ? *facts.DimsOf(other->value) : other->reshaped;
      const auto view = ViewOf(other->layout, View::Dense(dims));
      if (!view.has_value()) return false;
      read = read + Product(view->Dims());
    }
    if (read != Product(*facts.DimsOf(operand->value))) return false;
  }
  return true;
}

// True if samples and heads that the attention has now are lost where it reads its operands further
// up: if all of them are repeated only below.
bool LosesAxes(const Node& node, const HeadViews& furthest) {
  std::string now;
  std::string then;
  for (size_t i = 0; i < furthest.size(); ++i) {
    now += LayoutOf(node, i);
    then += furthest[i].has_value() ? furthest[i]->layout.ToString() : LayoutOf(node, i);
  }
  return absl::c_any_of(absl::string_view("bn"), [&](char role) {
    return absl::StrContains(now, role) && !absl::StrContains(then, role);
  });
}

// The operand's value in the type that the attention reads.
Value* Written(Patch& patch, const HeadView& operand, DataType type) {
  Value* value = patch.Cast(operand.value, type);
  return operand.reshaped.empty() ? value : ReshapeTo(patch, value, operand.reshaped);
}

// True if a trace of the value ends at the value itself.
bool IsItsOwnBase(Value* value) {
  const Node* node = value == nullptr ? nullptr : value->producer();
  return node == nullptr || (!MovesElements(*node) && !ops::TraitsOf(*node).assembles &&
                             ScalingsOf(node).empty() && BeforeCasts(value) == value);
}

bool AbsorbViews(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  // Once an attention reads what it can, this is cheaper than the search.
  if (absl::c_all_of(std::array{0, 1, 2}, [&](int i) { return IsItsOwnBase(node->input(i)); })) {
    return false;
  }
  std::vector<Value*> inputs = node->inputs();
  AttributeMap attributes = node->attributes();
  double scale = AttributeOr(*node, "scale", 1.0F);
  HeadViews furthest = FurthestUp(*node, true, facts);
  if (!WidensNothingElse(*node, furthest, facts)) furthest = FurthestUp(*node, false, facts);
  if (LosesAxes(*node, furthest)) return false;
  bool changed = false;
  for (size_t i = 0; i < furthest.size(); ++i) {
    if (!furthest[i].has_value() || furthest[i]->value == inputs[i]) continue;
    inputs[i] = Written(patch, *furthest[i], facts.TypeOf(inputs[i]));
    attributes[ops::FusedAttention::kLayoutNames[i]] = furthest[i]->layout.ToString();
    scale *= furthest[i]->scale;
    changed = true;
  }
  if (!changed) return false;
  attributes["scale"] = static_cast<float>(scale);
  patch.Rewrite(node, inputs, attributes);
  return true;
}

}  // namespace

extern const Rule kAttentionOperands = {
    .name = "attention_operands",
    .summary = "Attention reads Q, K and V where they lie, through a layout instead of a Transpose",
    .anchors = {"attnrun.Attention"},
    .propose = AbsorbViews};

}  // namespace attnrun::opt
