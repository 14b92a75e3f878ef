// SPDX-License-Identifier: Apache-2.0

// Exporters write attention out as MatMul, Softmax and MatMul, with views that split and merge
// heads around them. The rule fuses all of it into one attnrun.Attention. It starts at the Softmax:
//
//   q      k                          q  k  v  bias? mask?
//    \    /                            \  \ |  /    /
//    MatMul                             \  ||  /   /
//      |   * scale, softcap             Attention {scale, softcap, mask_value, layouts}
//      |   + bias, Where(mask)    ->        |
//    Softmax                            Reshape [B,S,N,H]
//      |   guard against NaN                |
//      |      v                         Transpose(0,2,1,3)
//      |     /                              |
//    MatMul                                 y [B,N,S,H]
//      |
//      y [B,N,S,H]
//
// Between the products the axes may lie in any order, joined or split. A model may view its scores,
// for example, as a 2-D grid of positions, with the rows and columns of an image as axes of their
// own, and add a bias there. Such biases become one bias of the plain scores:
//
//   scores [.., S, T] -> Reshape [.., h, w, h, w]
//                     -> Add rows [.., h, w, h, 1], Add columns [.., h, w, 1, w]
//                     -> Reshape [.., S, T]
//
// q, k and v are written as heads. The views that split them become a part of the operator later
// (operands.cc); those that merge heads cancel with the Reshape and the Transpose that the rule
// writes behind it. A Softmax over keys that lacks one of the parts is reported as a near miss.

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "ops/attention/fused_attention.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/attention_match.h"
#include "optimizer/rules/attention/bias.h"
#include "optimizer/rules/attention/shared_scores.h"

namespace attnrun::opt {
namespace {

// Writes the attention of a Softmax.
class AttentionFusion {
 public:
  AttentionFusion(RuleContext& context, Node* softmax, AttentionMatch match)
      : context_(context), facts_(context.facts), softmax_(softmax), match_(std::move(match)) {}

  bool Propose(Patch& patch) {
    std::vector<Node*> rest = {softmax_};
    rest.insert(rest.end(), probabilities_.nodes.begin(), probabilities_.nodes.end());
    rest.push_back(probabilities_.product);
    std::vector<Node*> nodes = ScoresToRemove(context_.graph, scores_, rest, [&](Node* softmax) {
      std::string why;
      const auto other = MatchAttention(*softmax, facts_, why);
      return other.has_value() && other->scores.matmul == scores_.matmul;
    });
    nodes.insert(nodes.end(), rest.begin(), rest.end());
    patch.Supersede(nodes);
    std::vector<Probabilities::Step> wanted;
    for (const Probabilities::Step& step : probabilities_.steps) {
      if (IsReadOutside(step.value, nodes)) wanted.push_back(step);
    }
    if (!wanted.empty() && !HaveAllSamples()) {
      return Miss("the probabilities may have other samples than the result");
    }
    // Nystromformer computes its inverse so, step by step.
    if (!wanted.empty() && DependsOn(*probabilities_.values_operand(), *softmax_)) {
      return Miss("the values are computed from the probabilities");
    }
    return Build(patch, wanted);
  }

 private:
  bool Miss(std::string why) {
    context_.Miss(*softmax_, std::move(why));
    return false;
  }

  // The operand as [batch, heads, rows, channels], in the type of the result. Null if it cannot be
  // written.
  Value* Read(Patch& patch, const HeadOperand& operand, absl::Span<Value* const> like) {
    Value* value = operand.transposed ? patch.SwapLastTwo(operand.value) : operand.value;
    value = operand.axes.Apply(patch, value, like, 1);
    return patch.Cast(value, facts_.TypeOf(probabilities_.product->output(0)));
  }

  // True if the probabilities have all samples of V, so that they do not broadcast to it. Those of
  // the operator would have been broadcast already.
  bool HaveAllSamples() const {
    const int leading = static_cast<int>(match_.product_dims.size()) - 2;
    const std::vector<SymInt>* dims =
        facts_.DimsOf(probabilities_.product->input(probabilities_.side));
    return std::equal(dims->begin(), dims->begin() + leading, match_.product_dims.begin());
  }

  bool IsReadOutside(const Value* value, const std::vector<Node*>& nodes) const {
    return context_.graph.IsOutput(value) || absl::c_any_of(value->consumers(), [&](Node* node) {
             return !absl::c_linear_search(nodes, node);
           });
  }

  bool Build(Patch& patch, const std::vector<Probabilities::Step>& wanted) {
    std::vector<Value*> like;
    for (const HeadOperand& operand : match_.operands) {
      like.push_back(Trace(operand.value, facts_).back().base);
    }
    for (const HeadOperand& operand : match_.operands) like.push_back(operand.value);
    bool ok = true;
    Value* bias = SumOfBiases(patch, scores_, match_.axes, like, ok);
    Value* mask = AllMasks(patch, scores_, match_.axes, like, ok);
    Value* sinks = SinksOf(patch, scores_, match_.axes, like, ok);
    if (!ok) {
      return Miss("bias, mask or sinks cannot be laid out as samples, heads, queries and keys");
    }
    std::vector<Value*> inputs;
    for (const HeadOperand& operand : match_.operands) {
      inputs.push_back(Read(patch, operand, like));
      if (inputs.back() == nullptr) return Miss("the extents of its operands are not known");
    }
    inputs.insert(inputs.end(), {bias, mask, sinks});
    while (inputs.back() == nullptr) inputs.pop_back();
    const std::vector<Value*> outputs = patch.Ops("attnrun::Attention", wanted.empty() ? 1 : 2,
                                                  inputs, Attributes(), softmax_->name());
    Value* result = SplitHeads(patch, outputs[0], like);
    if (result == nullptr) return Miss("the extents of the result are not known");
    patch.Replace(probabilities_.product->output(0), result);
    for (const Probabilities::Step& step : wanted) {
      Value* probabilities = AsInGraph(patch, outputs[1], step, like);
      if (probabilities == nullptr) return Miss("the extents of the probabilities are not known");
      patch.Replace(step.value, probabilities);
    }
    return true;
  }

  AttributeMap Attributes() const {
    AttributeMap attributes;
    for (size_t i = 0; i < match_.operands.size(); ++i) {
      attributes[ops::FusedAttention::kLayoutNames[i]] = match_.operands[i].layout.ToString();
    }
    attributes["scale"] = static_cast<float>(scores_.scale);
    if (scores_.softcap != 0) attributes["softcap"] = static_cast<float>(scores_.softcap);
    if (!scores_.masks.empty()) attributes["mask_value"] = static_cast<float>(scores_.mask_value);
    if (scores_.biases_last) attributes["bias_on_masked"] = int64_t{1};
    if (probabilities_.zero_rows) attributes["masked_row"] = std::string("zero");
    if (probabilities_.guarded) attributes["masked_row"] = std::string("guarded");
    return attributes;
  }

  // Reshapes [B,S,N*H] to the extents of the product with V.
  Value* SplitHeads(Patch& patch, Value* merged, absl::Span<Value* const> like) {
    const int64_t size = *match_.product_dims[probabilities_.channels_axis()].constant();
    const int64_t count = *match_.axes.heads.constant();
    Value* heads = patch.Op("Reshape", {merged, patch.Ints({0, 0, count, size})});
    constexpr int kKeys = 3;
    const View by_row = match_.axes.view.Transposed({0, 2, 1, kKeys});
    const int keys = probabilities_.view.rank() - 1 - probabilities_.side;
    const auto map =
        AxisMap::Between(AxesWithout(by_row, kKeys), AxesWithout(probabilities_.view, keys));
    if (!map.has_value()) return nullptr;
    heads = map->Apply(patch, heads, like, 1);
    return probabilities_.side == 0 ? heads : patch.SwapLastTwo(heads);
  }

  // The operator's probabilities [B,N,S,T] with the axes that they have in the graph.
  Value* AsInGraph(Patch& patch, Value* probabilities, const Probabilities::Step& step,
                   absl::Span<Value* const> like) {
    probabilities = patch.Cast(probabilities, facts_.TypeOf(step.value));
    const auto map = AxisMap::Between(match_.axes.view.axes(), step.scores.axes());
    if (!map.has_value()) return nullptr;
    probabilities = map->Apply(patch, probabilities, like);
    return ReshapeTo(patch, probabilities, *facts_.DimsOf(step.value), like);
  }

  RuleContext& context_;
  Facts& facts_;
  Node* const softmax_;
  const AttentionMatch match_;
  const Scores& scores_ = match_.scores;
  const Probabilities& probabilities_ = match_.probabilities;
};

bool FuseAttention(RuleContext& context, Node* softmax, Patch& patch) {
  std::string why;
  auto match = MatchAttention(*softmax, context.facts, why);
  if (match.has_value()) {
    return AttentionFusion(context, softmax, *std::move(match)).Propose(patch);
  }
  if (!why.empty()) context.Miss(*softmax, std::move(why));
  return false;
}

// Reports a product of products, which looks like an attention without a Softmax.
bool ReportMissingSoftmax(RuleContext& context, Node* product, Patch& /*patch*/) {
  if (product->input(0)->is_constant() || product->input(1)->is_constant()) return false;
  if (IsMadeOfProduct(product->input(0)) || IsMadeOfProduct(product->input(1))) {
    context.Miss(*product, "there is no Softmax between this product and the one before it");
  }
  return false;
}

}  // namespace

extern const Rule kAttention = {
    .name = "attention",
    .summary = "Softmax between two products becomes attnrun.Attention",
    .anchors = {"Softmax"},
    .propose = FuseAttention,
    .aliases = {"flattened_scores", "scores_by_query", "transposed_probabilities"}};

extern const Rule kMissingSoftmax = {
    .name = "attention",
    .summary = "A product of products without a Softmax between them is reported",
    .anchors = {"MatMul"},
    .propose = ReportMissingSoftmax};

}  // namespace attnrun::opt
