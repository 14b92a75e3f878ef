#include "optimizer/fusions/attention/operands.h"

#include <array>
#include <string>

#include "ops/attention/fused_attention.h"
#include "optimizer/each_node.h"
#include "optimizer/fusions/attention/heads.h"
#include "optimizer/node_queries.h"
#include "optimizer/reshape.h"

namespace attnrun {
namespace {

constexpr std::array<HeadRole, 3> kRoles = {HeadRole::kQuery, HeadRole::kKey, HeadRole::kValue};

// The operand read as far up as one layout reaches, perhaps where it is read already; nullopt if
// there is none.
std::optional<HeadOperand> FurthestUp(const Node& node, size_t operand, SharedHeads shared,
                                      Facts& facts) {
  const auto layout = HeadLayout::Parse(
      AttributeOr<std::string>(node, FusedAttention::kLayoutNames[operand], "b n s h"));
  if (!layout.ok()) return std::nullopt;
  const Scalars scalars = operand == 2 ? Scalars::kStop : Scalars::kFollow;
  const std::vector<Traced> chain = Trace(node.input(operand), facts, scalars);
  for (size_t i = chain.size(); i-- > 0;) {
    auto view = ViewOf(*layout, chain[i].view);
    if (!view.has_value()) continue;
    auto further = AsOperand(chain[i], *std::move(view), kRoles[operand], shared, facts);
    if (further.has_value()) return OfWholeRows(*std::move(further), facts);
  }
  return std::nullopt;
}

bool AbsorbAt(Facts& facts, Node* node, Patch& patch) {
  std::vector<Value*> inputs = node->inputs();
  AttributeMap attributes = node->attributes();
  double scale = AttributeOr(*node, "scale", 1.0F);
  std::array<std::optional<HeadOperand>, 3> furthest;
  const auto find = [&](SharedHeads shared) {
    for (size_t i = 0; i < furthest.size(); ++i) {
      furthest[i] = FurthestUp(*node, i, shared, facts);
    }
  };
  find(SharedHeads::kOnce);
  // K and V must count their heads alike.
  const auto& k = furthest[1];
  const auto& v = furthest[2];
  if (!k.has_value() || !v.has_value() || k->heads != v->heads) find(SharedHeads::kRepeated);
  bool changed = false;
  for (size_t i = 0; i < furthest.size(); ++i) {
    if (!furthest[i].has_value() || furthest[i]->value == inputs[i]) continue;
    inputs[i] = furthest[i]->value;
    const std::vector<SymInt>& reshaped = furthest[i]->reshaped;
    if (!reshaped.empty()) inputs[i] = ReshapeTo(patch, facts, inputs[i], reshaped);
    attributes.insert_or_assign(FusedAttention::kLayoutNames[i], furthest[i]->layout.ToString());
    scale *= furthest[i]->scale;
    changed = true;
  }
  if (!changed) return false;
  attributes.insert_or_assign("scale", static_cast<float>(scale));
  patch.Rewrite(node, inputs, attributes);
  return true;
}

}  // namespace

absl::StatusOr<int> AbsorbViews(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    return node->qualified_op_type() == "attnrun.Attention" && AbsorbAt(context.facts, node, patch);
  });
}

}  // namespace attnrun
