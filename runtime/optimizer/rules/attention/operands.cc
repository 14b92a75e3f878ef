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
#include "absl/container/flat_hash_map.h"
#include "ops/attention/fused_attention.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/head_views.h"
#include "optimizer/rules/attention/heads.h"

namespace attnrun::opt {
namespace {

constexpr std::array<HeadRole, 3> kRoles = {HeadRole::kQuery, HeadRole::kKey, HeadRole::kValue};

// True if the operand is that value, widened, already.
bool IsWidened(const Value& operand, const Value* value) {
  return IsOp(operand.producer(), "Cast") && operand.producer()->input(0) == value;
}

absl::StatusOr<ops::HeadLayout> LayoutNow(const Node& node, size_t operand) {
  return ops::HeadLayout::Parse(
      AttributeOr<std::string>(node, ops::FusedAttention::kLayoutNames[operand], "b n s h"));
}

// The operand read from the furthest value that one layout can read, which may be the one it is
// read from now; nullopt if there is none.
std::optional<HeadOperand> FurthestUp(const Node& node, size_t operand, SharedHeads shared,
                                      bool widening, Facts& facts) {
  const auto layout = LayoutNow(node, operand);
  if (!layout.ok()) return std::nullopt;
  Value* input = node.input(operand);
  const std::vector<Traced> chain =
      Trace(input, facts, {.factors = operand != 2, .widening = widening});
  for (size_t i = chain.size(); i-- > 0;) {
    auto view = ViewOf(*layout, chain[i].view);
    if (!view.has_value() || IsWidened(*input, chain[i].base)) continue;
    auto further = AsOperand(chain[i], *std::move(view), kRoles[operand], shared, facts);
    if (further.has_value()) return OfWholeRows(*std::move(further), facts);
  }
  return std::nullopt;
}

using Operands = std::array<std::optional<HeadOperand>, 3>;

Operands FurthestUp(const Node& node, bool widening, Facts& facts) {
  Operands furthest;
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
bool WidensNothingElse(const Node& node, const Operands& operands, Facts& facts) {
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
bool LosesAxes(const Node& node, const Operands& furthest) {
  std::vector<ops::HeadLayout> now;
  std::vector<ops::HeadLayout> then;
  for (size_t i = 0; i < furthest.size(); ++i) {
    const auto layout = LayoutNow(node, i);
    if (!layout.ok()) return true;
    now.push_back(*layout);
    then.push_back(furthest[i].has_value() ? furthest[i]->layout : *layout);
  }
  return absl::c_any_of(absl::string_view("bn"),
                        [&](char role) { return HasRole(now, role) && !HasRole(then, role); });
}

// The operand's value in the type that the attention reads. `widened` holds the values that were
// cast before, so that each is cast once.
Value* Written(Patch& patch, const HeadOperand& operand, DataType type,
               absl::flat_hash_map<Value*, Value*>& widened, Facts& facts) {
  Value* value = operand.value;
  if (facts.TypeOf(value) != type) {
    Value*& cast = widened[value];
    if (cast == nullptr) {
      cast = patch.Op("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
    }
    value = cast;
  }
  if (operand.reshaped.empty()) return value;
  return ReshapeTo(patch, facts, value, operand.reshaped);
}

bool AbsorbViews(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  std::vector<Value*> inputs = node->inputs();
  AttributeMap attributes = node->attributes();
  double scale = AttributeOr(*node, "scale", 1.0F);
  Operands furthest = FurthestUp(*node, true, facts);
  if (!WidensNothingElse(*node, furthest, facts)) furthest = FurthestUp(*node, false, facts);
  if (LosesAxes(*node, furthest)) return false;
  absl::flat_hash_map<Value*, Value*> widened;
  bool changed = false;
  for (size_t i = 0; i < furthest.size(); ++i) {
    if (!furthest[i].has_value() || furthest[i]->value == inputs[i]) continue;
    inputs[i] = Written(patch, *furthest[i], facts.TypeOf(inputs[i]), widened, facts);
    attributes.insert_or_assign(ops::FusedAttention::kLayoutNames[i],
                                furthest[i]->layout.ToString());
    scale *= furthest[i]->scale;
    changed = true;
  }
  if (!changed) return false;
  attributes.insert_or_assign("scale", static_cast<float>(scale));
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
