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
//
// The results may also be viewed as [B,N,S,H] and be put together along their heads, or be stacked
// along a new axis; the same views then follow the one attention.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graph/attribute_key.h"
#include "ops/attention/fused_attention.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/head_views.h"
#include "optimizer/rules/attention/ways.h"

namespace attnrun::opt {
namespace {

constexpr int kHeadAxis = 2;

// True if the attentions differ in nothing but where their heads lie.
bool AreAlike(const Node& a, const Node& b) {
  const auto key = [](const Node& node) {
    std::string text;
    for (const auto& [name, attribute] : node.attributes()) {
      if (absl::c_linear_search(ops::FusedAttention::kLayoutNames, name)) continue;
      absl::StrAppend(&text, "|", name, "=");
      AppendKey(attribute, text);
    }
    return text;
  };
  return a.inputs() == b.inputs() && key(a) == key(b);
}

// The attentions whose results a Concat puts side by side, all viewed alike; empty if it has other
// operands.
std::vector<Source> PartsOf(const Node& concat, RuleContext& context) {
  std::vector<Source> parts;
  for (Value* input : concat.inputs()) {
    // Its probabilities, if they are read, would have to be joined as well.
    auto part = FindSource(input, context, [](const Node& node) {
      return IsFusedAttention(node) && node.output(1) == nullptr;
    });
    if (!part.has_value() || part->factor != 1) return {};
    if (!parts.empty() && !(part->view == parts[0].view)) return {};
    parts.push_back(*std::move(part));
  }
  return parts;
}

// The axes that `count` results [B,S,C] side by side have once they are put together along `axis`
// of their view, which must be the heads, or all channels, or an axis made for it; nullopt if it is
// another one.
std::optional<std::vector<ViewAxis>> AxesTogether(const Source& part, int64_t axis, int64_t count,
                                                  Facts& facts) {
  const SymInt channels = facts.DimsOf(part.node->output(0))->back();
  const int rank = part.view.rank();
  if (axis < -rank || axis >= rank || !channels.constant().has_value()) return std::nullopt;
  std::vector<ViewAxis> axes = part.view.axes();
  ViewAxis& joined = axes[axis < 0 ? axis + rank : axis];
  if (joined.empty()) joined = {{SymInt(1), channels}};
  if (joined.size() != 1 || joined[0].size * joined[0].stride != channels) return std::nullopt;
  joined[0].size = joined[0].size * SymInt(count);
  for (ViewAxis& other : axes) {
    for (ViewFactor& factor : other) {
      const bool is_row = SymInt::DivideExactly(factor.stride, channels).has_value();
      if (is_row && &other != &joined) factor.stride = factor.stride * SymInt(count);
    }
  }
  return axes;
}

// The places of an operand's heads, as a view [b, s, n, h].
std::optional<View> HeadsOf(const Node& node, size_t operand, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(node.input(operand));
  return dims == nullptr ? std::nullopt : HeadsOf(node, operand, View::Dense(*dims));
}

// True if K and V have the same number of heads.
bool SharesAlike(const Node& node, Facts& facts) {
  const auto k = HeadsOf(node, 1, facts);
  const auto v = HeadsOf(node, 2, facts);
  return k.has_value() && v.has_value() && k->Extent(kHeadAxis) == v->Extent(kHeadAxis);
}

// True if masks, biases and sinks [.., N, S, T] are the same for all heads: those of a part's heads
// alone are not those of the others.
bool MasksHeadsAlike(const Node& node, Facts& facts) {
  constexpr int kHeadsFromEnd = 3;
  using Attention = ops::FusedAttention;
  return absl::c_all_of(
      std::array{Attention::kMask, Attention::kBias, Attention::kSinks}, [&](int operand) {
        const Value* value = node.input(operand);
        if (value == nullptr) return true;
        const std::vector<SymInt>* dims = facts.DimsOf(value);
        if (dims == nullptr) return false;
        return std::ssize(*dims) < kHeadsFromEnd || dims->end()[-kHeadsFromEnd].is_constant(1);
      });
}

// One layout for the heads of an operand of all the attentions. K and V may leave out the axis of
// heads where all attentions read the same one.
std::optional<ops::HeadLayout> JoinedLayout(const std::vector<Source>& parts, size_t operand,
                                            Facts& facts) {
  std::vector<View> heads;
  for (const Source& part : parts) {
    auto of_part = HeadsOf(*part.node, operand, facts);
    if (!of_part.has_value()) return std::nullopt;
    heads.push_back(*std::move(of_part));
  }
  const auto joined = View::Concatenated(heads, kHeadAxis);
  if (!joined.has_value()) return std::nullopt;
  if (operand == 0 && heads[0].offset() == heads[1].offset()) return std::nullopt;
  return LayoutOf(*joined, *facts.DimsOf(parts[0].node->input(operand)));
}

// The attributes of the one attention; nullopt, with a near miss at the Concat, if the attentions
// do not belong together.
std::optional<AttributeMap> JoinedAttributes(const std::vector<Source>& parts, const Node& concat,
                                             RuleContext& context) {
  const Node& first = *parts[0].node;
  for (const Source& part : parts) {
    if (AreAlike(first, *part.node)) continue;
    context.Miss(concat,
                 absl::StrCat(part.node->description(), " has other inputs or attributes than ",
                              first.description()));
    return std::nullopt;
  }
  if (!MasksHeadsAlike(first, context.facts)) {
    context.Miss(concat,
                 absl::StrCat(first.description(), " masks each of its heads in its own way"));
    return std::nullopt;
  }
  AttributeMap attributes = first.attributes();
  for (size_t operand = 0; operand < ops::FusedAttention::kLayoutNames.size(); ++operand) {
    const auto layout = JoinedLayout(parts, operand, context.facts);
    if (!layout.has_value() || !SharesAlike(first, context.facts)) {
      context.Miss(concat, absl::StrCat("the heads of ", std::string(1, "QKV"[operand]),
                                        " are not at equal distances"));
      return std::nullopt;
    }
    attributes[ops::FusedAttention::kLayoutNames[operand]] = layout->ToString();
  }
  return attributes;
}

bool JoinHeads(RuleContext& context, Node* concat, Patch& patch) {
  Facts& facts = context.facts;
  const std::vector<Source> parts = PartsOf(*concat, context);
  if (parts.size() < 2) return false;
  const auto axes =
      AxesTogether(parts[0], AttributeOr<int64_t>(*concat, "axis", 0), std::ssize(parts), facts);
  if (!axes.has_value()) return false;
  auto attributes = JoinedAttributes(parts, *concat, context);
  if (!attributes.has_value()) return false;
  for (const Source& part : parts) patch.Supersede(part.nodes());
  patch.Supersede({concat});
  const Node& first = *parts[0].node;
  Value* result =
      patch.Op("attnrun::Attention", first.inputs(), *std::move(attributes), first.name());
  const std::vector<SymInt>* dims = facts.DimsOf(result);
  const auto map =
      dims == nullptr ? std::nullopt : AxisMap::Between(View::Dense(*dims).axes(), *axes);
  return map.has_value() &&
         patch.Replace(concat->output(0), map->Apply(patch, result, {concat->output(0)}));
}

}  // namespace

extern const Rule kAttentionHeads = {
    .name = "attention_heads",
    .summary = "Attentions of some heads each that are concatenated become one attention",
    .anchors = {"Concat"},
    .propose = JoinHeads};

}  // namespace attnrun::opt
