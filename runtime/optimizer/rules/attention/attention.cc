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
// A model may view its scores as a 2-D grid of positions, with the rows and columns of an image as
// axes of their own, and add a bias there. Such biases become one bias of the plain scores:
//
//   scores [.., S, T] -> Reshape [.., h, w, h, w]
//                     -> Add rows [.., h, w, h, 1], Add columns [.., h, w, 1, w]
//                     -> Reshape [.., S, T]
//
// q, k and v are read from the projections' results. The views that split heads become a part of
// the operator (q_layout, k_layout, v_layout); those that merge heads cancel with the Reshape and
// the Transpose that the rule writes behind it. A Softmax over keys that lacks one of the parts is
// reported as a near miss.

#include <limits>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "optimizer/analysis/depends_on.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/bias.h"
#include "optimizer/rules/attention/heads.h"
#include "optimizer/rules/attention/probabilities.h"
#include "optimizer/rules/attention/scores.h"
#include "optimizer/rules/attention/shared_scores.h"

namespace attnrun::opt {
namespace {

std::vector<SymInt> Leading(const std::vector<SymInt>& dims) {
  return {dims.begin(), dims.end() - 2};
}

// True if extents that are numbers agree. Symbolic extents may be equal under other names.
bool SameNumbers(const std::vector<SymInt>& a, const std::vector<SymInt>& b) {
  return absl::c_equal(a, b, [](const SymInt& x, const SymInt& y) {
    return x == y || (!x.constant().has_value() && !y.constant().has_value());
  });
}

// One Softmax and the parts of an attention around it.
class AttentionFusion {
 public:
  AttentionFusion(RuleContext& context, Node* softmax)
      : context_(context), facts_(context.facts), softmax_(softmax) {}

  absl::StatusOr<int> Run() {
    if (!Recognize()) return 0;
    return Rewrite();
  }

 private:
  // True if all parts of an attention are there. Reports the first that is missing.
  bool Recognize() {
    std::string why;
    auto scores = FindScores(softmax_->input(0), facts_, why);
    probabilities_ =
        FollowProbabilities(*softmax_, scores.has_value() ? &*scores : nullptr, facts_);
    if (probabilities_.product == nullptr) {
      if (scores.has_value() && scores->sinks.has_value()) why = NotCutOff(*scores->sinks);
      return NoProduct(why) != 0;
    }
    if (!CheckAxis()) return false;
    if (!scores.has_value()) return Miss(why) != 0;
    scores_ = *std::move(scores);
    if (probabilities_.closes_masked) {
      scores_.mask_value = -std::numeric_limits<double>::infinity();
    }
    return FindOperands();
  }

  // True if this Softmax, too, belongs to an attention over the same product, even if one that
  // cannot be fused.
  bool AlsoReads(const Node* product) {
    quiet_ = true;
    return Recognize() && scores_.matmul == product;
  }

  int Miss(std::string why) {
    if (!quiet_) context_.Miss(*softmax_, std::move(why));
    return 0;
  }

  // Reports the missing scores, but not for a Softmax that leads to no product, as a classifier's.
  int NoProduct(const std::string& why) {
    const Value* value = softmax_->output(0);
    const Node* map = LinearMapBehind(*value);
    if (map == nullptr && !LeadsToProduct(value)) return 0;
    if (!why.empty()) return Miss(why);
    if (map != nullptr) {
      return Miss(absl::StrCat("after the Softmax stands ", map->description(),
                               ", a linear map over heads"));
    }
    return Miss(
        absl::StrCat("after the Softmax stands ", ReaderBehindViews(*value)->description()));
  }

  std::string NotCutOff(const Sinks& sinks) const {
    return absl::StrCat("the column that ", sinks.nodes.back()->description(),
                        " puts beside the scores is not cut off behind the Softmax");
  }

  bool CheckAxis() {
    const int rank = facts_.RankOf(softmax_->input(0));
    const int64_t axis = AttributeOr<int64_t>(*softmax_, "axis", softmax_->opset() < 13 ? 1 : -1);
    if (rank < 2) return false;
    if (axis == -1 || axis == rank - 1) return true;
    Miss(absl::StrCat("the Softmax runs over another axis than the keys, the last one: ", axis));
    return false;
  }

  // Finds Q, K and V as heads.
  bool FindOperands() {
    Node* matmul = scores_.matmul;
    const std::vector<SymInt>* product_dims = facts_.DimsOf(probabilities_.product->output(0));
    if (product_dims == nullptr || product_dims->size() < 2) {
      Miss(
          absl::StrCat("the extents of ", probabilities_.product->description(), " are not known"));
      return false;
    }
    product_dims_ = *product_dims;
    if (product_dims_.back().constant().value_or(0) < 1) {
      Miss(absl::StrCat("the size of the heads of V, ", product_dims_.back().ToString(),
                        ", is not fixed"));
      return false;
    }
    axes_ = FindHeadAxes(scores_.q(), scores_.swapped, Leading(scores_.matmul_dims), facts_);
    SplitHeadsBySoftmax();
    if (!axes_.heads.constant().has_value()) {
      Miss(absl::StrCat("the number of heads of ", matmul->description(), ", ",
                        axes_.heads.ToString(), ", is not fixed"));
      return false;
    }
    const auto value_axes = ValueAxes();
    const auto q = FindHeads(scores_.q(), HeadRole::kQuery, scores_.swapped, axes_, facts_);
    const auto find_k = [&](SharedHeads shared) {
      return FindHeads(scores_.k(), HeadRole::kKey, !scores_.swapped, axes_, facts_, shared);
    };
    auto k = find_k(SharedHeads::kOnce);
    Value* const v_value = probabilities_.product->input(1);
    const auto find_v = [&](SharedHeads shared) {
      return value_axes.has_value()
                 ? FindHeads(v_value, HeadRole::kValue, false, *value_axes, facts_, shared)
                 : std::nullopt;
    };
    auto v = find_v(SharedHeads::kOnce);
    // K and V must agree on how often shared heads count: once each, or once for each head of Q.
    if (k.has_value() && v.has_value() && k->heads != v->heads) {
      k = find_k(SharedHeads::kRepeated);
      v = find_v(SharedHeads::kRepeated);
    }
    if (!q.has_value() || !k.has_value() || !v.has_value()) {
      Miss(absl::StrCat("the heads of ", !q.has_value() ? "Q" : (!k.has_value() ? "K" : "V"),
                        " are not laid out as samples, heads, positions and channels"));
      return false;
    }
    q_ = *q;
    k_ = *k;
    v_ = *v;
    return CheckTypes();
  }

  // Samples and heads may share one axis in the products and be separate axes at the Softmax.
  void SplitHeadsBySoftmax() {
    if (axes_.leading.size() != 1) return;
    for (const std::vector<SymInt>& dims : {*facts_.DimsOf(softmax_->input(0)), product_dims_}) {
      if (dims.size() != 4) continue;
      axes_.batch = dims[0];
      axes_.heads = dims[1];
    }
    SplitFixedNumber();
  }

  // Splits a folded axis by the largest number of heads that divides its extent in every run.
  void SplitFixedNumber() {
    constexpr int64_t kMostHeads = 256;
    if (axes_.heads.constant().has_value()) return;
    for (int64_t heads = kMostHeads; heads >= 1; --heads) {
      const auto batch = SymInt::DivideExactly(axes_.leading[0], SymInt(heads));
      if (!batch.has_value()) continue;
      axes_.batch = *batch;
      axes_.heads = SymInt(heads);
      return;
    }
  }

  // The leading axes of the product with V: the same samples and heads, perhaps grouped otherwise.
  std::optional<HeadAxes> ValueAxes() const {
    HeadAxes axes = axes_;
    axes.leading = Leading(product_dims_);
    if (axes.leading == axes_.leading) return axes;
    if (axes_.heads_first) return std::nullopt;
    // A Reshape keeps the number of elements: equal heads mean equal samples.
    const size_t rank = axes.leading.size();
    if (rank > 3 || (rank == 0 && !axes.heads.is_constant(1))) return std::nullopt;
    if (rank == axes_.leading.size()) {
      return SameNumbers(axes.leading, axes_.leading) ? std::optional(axes) : std::nullopt;
    }
    if (rank >= 2 && axes.leading.back() != axes.heads) return std::nullopt;
    axes.heads_split = false;
    return axes;
  }

  // All operands get the type of the result; narrower ones are widened, which is exact.
  bool CheckTypes() {
    const DataType type = facts_.TypeOf(probabilities_.product->output(0));
    bool fits = type != DataType::kUndefined;
    for (const HeadOperand* operand : {&q_, &k_, &v_}) {
      const DataType from = facts_.TypeOf(operand->value);
      fits = fits && (from == type || (type == DataType::kFloat && (from == DataType::kFloat16 ||
                                                                    from == DataType::kBfloat16)));
    }
    if (!fits) Miss("the element types of Q, K, V and the result differ");
    return fits;
  }

  // The value that the operand's layout describes, in the type of the result. Null if it cannot be
  // written.
  Value* Read(Patch& patch, const HeadOperand& operand, absl::Span<Value* const> like) {
    Value* value = operand.value;
    if (!operand.reshaped.empty()) value = ReshapeTo(patch, facts_, value, operand.reshaped, like);
    const DataType type = facts_.TypeOf(probabilities_.product->output(0));
    if (value == nullptr || facts_.TypeOf(operand.value) == type) return value;
    return patch.Op("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
  }

  absl::StatusOr<int> Rewrite() {
    Patch patch(context_);
    std::vector<Node*> rest = {softmax_};
    rest.insert(rest.end(), probabilities_.nodes.begin(), probabilities_.nodes.end());
    rest.push_back(probabilities_.product);
    std::vector<Node*> nodes = ScoresToRemove(context_.graph, scores_, rest, [&](Node* softmax) {
      return AttentionFusion(context_, softmax).AlsoReads(scores_.matmul);
    });
    nodes.insert(nodes.end(), rest.begin(), rest.end());
    patch.Supersede(nodes);
    std::vector<Value*> replaced = probabilities_.values;
    replaced.push_back(probabilities_.product->output(0));
    if (!patch.Admits(replaced, softmax_)) return 0;
    std::vector<Value*> wanted;
    for (Value* value : probabilities_.values) {
      if (IsReadOutside(value, nodes)) wanted.push_back(value);
    }
    if (!absl::c_all_of(wanted, [&](const Value* value) { return HasAllSamples(value); })) {
      return Miss("the probabilities may have other samples than the result");
    }
    // Nystromformer computes its inverse so, step by step.
    if (!wanted.empty() && DependsOn(*probabilities_.product->input(1), *softmax_)) {
      return Miss("the values are computed from the probabilities");
    }
    return Build(patch, wanted);
  }

  // True if the probabilities have all samples of V, so that they do not broadcast to it. Those of
  // the operator would have been broadcast already.
  bool HasAllSamples(const Value* probabilities) const {
    const std::vector<SymInt> leading = Leading(*facts_.DimsOf(probabilities));
    const std::vector<SymInt> of_product = Leading(product_dims_);
    return leading.size() != of_product.size() || leading == of_product;
  }

  bool IsReadOutside(const Value* value, const std::vector<Node*>& nodes) const {
    return context_.graph.IsOutput(value) || absl::c_any_of(value->consumers(), [&](Node* node) {
             return !absl::c_linear_search(nodes, node);
           });
  }

  absl::StatusOr<int> Build(Patch& patch, const std::vector<Value*>& wanted) {
    const std::vector<Value*> like = {q_.value,
                                      k_.value,
                                      v_.value,
                                      scores_.matmul->input(0),
                                      scores_.matmul->input(1),
                                      probabilities_.product->input(1)};
    bool ok = true;
    Value* bias = SumOfBiases(patch, facts_, scores_, axes_, like, ok);
    Value* mask = AllMasks(patch, facts_, scores_, axes_, like, ok);
    Value* sinks = SinksOf(patch, facts_, scores_, axes_, like, ok);
    if (!ok) {
      return Miss("bias, mask or sinks cannot be laid out as samples, heads, queries and keys");
    }
    std::vector<Value*> inputs;
    for (const HeadOperand* operand : {&q_, &k_, &v_}) {
      inputs.push_back(Read(patch, *operand, like));
      if (inputs.back() == nullptr) return Miss("the extents of its operands are not known");
    }
    inputs.insert(inputs.end(), {bias, mask, sinks});
    while (inputs.back() == nullptr) inputs.pop_back();
    const std::vector<Value*> outputs = patch.Ops("attnrun::Attention", wanted.empty() ? 1 : 2,
                                                  inputs, Attributes(), softmax_->name());
    if (!patch.status().ok()) return patch.status();
    Value* result = SplitHeads(patch, outputs[0], like);
    if (result == nullptr) return Miss("the extents of the result are not known");
    patch.Replace(probabilities_.product->output(0), result);
    for (Value* value : wanted) {
      Value* probabilities = AsInGraph(patch, outputs[1], value, like);
      if (probabilities == nullptr) return Miss("the extents of the probabilities are not known");
      patch.Replace(value, probabilities);
    }
    return patch.Apply();
  }

  AttributeMap Attributes() const {
    AttributeMap attributes;
    attributes["q_layout"] = q_.layout.ToString();
    attributes["k_layout"] = k_.layout.ToString();
    attributes["v_layout"] = v_.layout.ToString();
    attributes["scale"] = static_cast<float>(scores_.scale * q_.scale * k_.scale);
    if (scores_.softcap != 0) attributes["softcap"] = static_cast<float>(scores_.softcap);
    if (!scores_.masks.empty()) attributes["mask_value"] = static_cast<float>(scores_.mask_value);
    if (scores_.biases_last) attributes["bias_on_masked"] = int64_t{1};
    if (probabilities_.zero_rows) attributes["masked_row"] = std::string("zero");
    if (probabilities_.guarded) attributes["masked_row"] = std::string("guarded");
    return attributes;
  }

  // Reshapes [B,S,N*H] to the extents of the product with V.
  Value* SplitHeads(Patch& patch, Value* merged, std::vector<Value*> like) {
    const int64_t size = product_dims_.back().constant().value_or(-1);
    const int64_t count = axes_.heads.constant().value_or(-1);
    Value* heads = patch.Op("Reshape", {merged, patch.Ints({0, 0, count, size})});
    const std::vector<int64_t> order =
        axes_.heads_first ? std::vector<int64_t>{2, 0, 1, 3} : std::vector<int64_t>{0, 2, 1, 3};
    heads = patch.Op("Transpose", {heads}, {{"perm", order}});
    if (!patch.status().ok()) return nullptr;
    if (product_dims_.size() == 4) return heads;
    const std::vector<SymInt>* dims = facts_.DimsOf(heads);
    if (dims == nullptr) return nullptr;
    // The operator's result may have another name for the number of queries than the graph.
    std::vector<SymInt> wanted = product_dims_;
    wanted[wanted.size() - 2] = (*dims)[2];
    like.push_back(heads);
    return ReshapeTo(patch, facts_, heads, wanted, like);
  }

  // The operator's probabilities [B,N,S,T] with the axes that they have in the graph.
  Value* AsInGraph(Patch& patch, Value* probabilities, Value* value,
                   absl::Span<Value* const> like) {
    const std::vector<SymInt> dims = *facts_.DimsOf(value);
    if (!patch.status().ok()) return nullptr;
    const DataType type = facts_.TypeOf(value);
    if (type != facts_.TypeOf(probabilities_.product->output(0))) {
      probabilities = patch.Op("Cast", {probabilities}, {{"to", static_cast<int64_t>(type)}});
    }
    if (axes_.heads_first) {
      const std::vector<int64_t> order = {1, 0, 2, 3};
      probabilities = patch.Op("Transpose", {probabilities}, {{"perm", order}});
    }
    if (dims.size() == 4) return probabilities;
    return ReshapeTo(patch, facts_, probabilities, dims, like);
  }

  RuleContext& context_;
  Facts& facts_;
  Node* const softmax_;
  bool quiet_ = false;
  Probabilities probabilities_;
  Scores scores_;
  HeadAxes axes_;
  std::vector<SymInt> product_dims_;
  HeadOperand q_;
  HeadOperand k_;
  HeadOperand v_;
};

// Reports products of products, which look like an attention without a Softmax.
absl::Status ReportMissingSoftmaxes(RuleContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  for (const Node* node : order) {
    if (node->op_type() != "MatMul" || !node->domain().empty()) continue;
    if (node->input(0)->is_constant() || node->input(1)->is_constant()) continue;
    if (ComesFromProduct(node->input(0)) || ComesFromProduct(node->input(1))) {
      context.Miss(*node, "there is no Softmax between this product and the one before it");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> FuseAttention(RuleContext& context) {
  std::vector<Node*> softmaxes;
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  for (Node* node : order) {
    if (node->op_type() == "Softmax" && node->domain().empty()) softmaxes.push_back(node);
  }
  int fused = 0;
  for (Node* softmax : softmaxes) {
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, AttentionFusion(context, softmax).Run());
    fused += applied;
  }
  ATTNRUN_RETURN_IF_ERROR(ReportMissingSoftmaxes(context));
  return fused;
}

}  // namespace

extern const Rule kAttention = {.name = "attention",
                                .summary = "Softmax between two products becomes attnrun.Attention",
                                .run = FuseAttention};

}  // namespace attnrun::opt
