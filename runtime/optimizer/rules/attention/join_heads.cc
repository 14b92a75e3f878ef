// SPDX-License-Identifier: Apache-2.0

// Some models attend with one head at a time and concatenate the results. Once merged projections
// have put the heads at equal distances, such attentions of one head each become one attention:
//
//   qkv [B,S,3*N*H]                            qkv [B,S,3*N*H]
//     |                 |                         |
//   Attention         Attention                Attention
//   "b s (h:8)"       "b s 8+(h:8)"   ...  ->  "b s (n:4 h:8)"
//          \           /                          |
//        Concat(axis = -1)                        |
//              |                                  |
//           y [B,S,N*H]                        y [B,S,N*H]

#include <array>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ops/attention/fused_attention.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/head_views.h"

namespace attnrun::opt {
namespace {

constexpr int kHeadAxis = 2;

bool IsSame(const AttributeValue& a, const AttributeValue& b) {
  if (const auto* number = std::get_if<int64_t>(&a)) {
    return std::holds_alternative<int64_t>(b) && *number == std::get<int64_t>(b);
  }
  if (const auto* number = std::get_if<float>(&a)) {
    return std::holds_alternative<float>(b) && *number == std::get<float>(b);
  }
  const auto* text = std::get_if<std::string>(&a);
  return text != nullptr && std::holds_alternative<std::string>(b) &&
         *text == std::get<std::string>(b);
}

// True if the attentions differ in nothing but where their heads lie.
bool AreAlike(const Node& a, const Node& b) {
  if (a.inputs() != b.inputs() || a.attributes().size() != b.attributes().size()) return false;
  return absl::c_all_of(a.attributes(), [&](const auto& attribute) {
    const AttributeValue* other = b.attribute(attribute.first);
    if (other == nullptr) return false;
    return absl::c_linear_search(ops::FusedAttention::kLayoutNames, attribute.first) ||
           IsSame(attribute.second, *other);
  });
}

// The attentions that a Concat along the last axis joins, if they have no other readers; else none.
std::vector<Node*> JoinedAttentions(const Node& concat, const RuleContext& context) {
  const int64_t axis = AttributeOr<int64_t>(concat, "axis", 0);
  // The results are [B,S,N*H].
  if (axis != -1 && axis != 2) return {};
  std::vector<Node*> attentions;
  for (const Value* input : concat.inputs()) {
    Node* node = input->producer();
    if (node == nullptr || node->qualified_op_type() != "attnrun.Attention") return {};
    if (input->consumers().size() != 1 || context.graph.IsOutput(input)) return {};
    if (input != node->output(0) || node->output(1) != nullptr) return {};
    attentions.push_back(node);
  }
  return attentions;
}

// The place of an operand's only head, as a view [b, s, 1, h].
std::optional<View> OneHead(const Node& node, size_t operand, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(node.input(operand));
  if (dims == nullptr) return std::nullopt;
  const auto layout = ops::HeadLayout::Parse(
      AttributeOr<std::string>(node, ops::FusedAttention::kLayoutNames[operand], "b n s h"));
  if (!layout.ok()) return std::nullopt;
  auto view = ViewOf(*layout, View::Dense(*dims));
  if (!view.has_value() || !view->Extent(kHeadAxis).is_constant(1)) return std::nullopt;
  return view;
}

// One layout for the heads of an operand of all the attentions. K and V may leave out the axis of
// heads where all attentions read the same one.
std::optional<ops::HeadLayout> JoinedLayout(const std::vector<Node*>& attentions, size_t operand,
                                            Facts& facts) {
  std::vector<View> heads;
  for (const Node* node : attentions) {
    auto head = OneHead(*node, operand, facts);
    if (!head.has_value()) return std::nullopt;
    heads.push_back(*std::move(head));
  }
  const auto joined = View::Concatenated(heads, kHeadAxis);
  if (!joined.has_value()) return std::nullopt;
  if (operand == 0 && heads[0].offset() == heads[1].offset()) return std::nullopt;
  return LayoutOf(*joined, *facts.DimsOf(attentions[0]->input(operand)));
}

bool JoinHeads(RuleContext& context, Node* concat, Patch& patch) {
  const std::vector<Node*> attentions = JoinedAttentions(*concat, context);
  if (attentions.size() < 2) return false;
  for (const Node* node : attentions) {
    if (AreAlike(*attentions[0], *node)) continue;
    context.Miss(*concat, absl::StrCat(node->description(), " has other inputs or attributes than ",
                                       attentions[0]->description()));
    return false;
  }
  AttributeMap attributes = attentions[0]->attributes();
  for (size_t operand = 0; operand < ops::FusedAttention::kLayoutNames.size(); ++operand) {
    const auto layout = JoinedLayout(attentions, operand, context.facts);
    if (!layout.has_value()) {
      context.Miss(*concat, absl::StrCat("the heads of ", std::string(1, "QKV"[operand]),
                                         " are not single ones at equal distances"));
      return false;
    }
    attributes.insert_or_assign(ops::FusedAttention::kLayoutNames[operand], layout->ToString());
  }
  patch.Supersede(attentions);
  patch.Supersede({concat});
  patch.Replace(concat->output(0), patch.Op("attnrun::Attention", attentions[0]->inputs(),
                                            std::move(attributes), attentions[0]->name()));
  return true;
}

}  // namespace

extern const Rule kAttentionHeads = {
    .name = "attention_heads",
    .summary = "Attentions of single heads that are concatenated become one attention",
    .anchors = {"Concat"},
    .propose = JoinHeads};

}  // namespace attnrun::opt
