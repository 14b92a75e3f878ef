// SPDX-License-Identifier: Apache-2.0

// Recognizes an attention sink b that is written as a gate behind the product (Granite, kernels
// that return the logarithm of the sum of a row):
//
//     scores                               scores   b
//      |    \                                 \   /
//   Softmax  ReduceLogSumExp                  Concat
//      |        |                               |
//      |       Sub b                         Softmax
//      |        |               ->              |
//      |      Sigmoid                         Slice   v
//      | v      |                               |    /
//   MatMul     /                              MatMul
//       \     /
//         Mul
//
// exp(s) / sum * sigmoid(log(sum) - b) = exp(s) / (sum + exp(b)).

#include <cmath>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/sinks.h"

namespace attnrun::opt {
namespace {

// Casts and one Unsqueeze of a last axis, in any order; true in `unsqueezed` if there was one.
Value* BeforeColumn(Value* value, bool& unsqueezed, Facts& facts) {
  for (const Node* node = value->producer(); node != nullptr; node = value->producer()) {
    const std::vector<SymInt>* dims = facts.DimsOf(value);
    const bool last = IsOp(node, "Unsqueeze") && dims != nullptr && !dims->empty() &&
                      facts.RankOf(node->input(0)) + 1 == static_cast<int>(dims->size()) &&
                      dims->back().is_constant(1);
    if (!IsOp(node, "Cast") && (!last || unsqueezed)) break;
    unsqueezed |= last;
    value = node->input(0);
  }
  return value;
}

class GatedSoftmax {
 public:
  GatedSoftmax(RuleContext& context, Node* gated)
      : context_(context), facts_(context.facts), gated_(gated) {}

  bool Propose(Patch& patch) {
    return absl::c_any_of(ReadingsOf(gated_), [&](const Operands& operands) {
      return MatchProduct(operands.first) && MatchGate(operands.second) && Write(patch);
    });
  }

 private:
  // Matches the product of Softmax(scores) with values.
  bool MatchProduct(Value* value) {
    product_ = ProducerOf(value, "MatMul");
    if (product_ == nullptr || OnlyReader(context_.graph, value) == nullptr) return false;
    MatchedNodes nodes;
    Node* softmax = nullptr;
    const Pattern probabilities = MaybeCast(Op("Softmax", {Is(&scores_)}, &softmax));
    return probabilities.Match(product_->input(0), facts_, nodes) &&
           SoftmaxAxis(*softmax, facts_) == -1;
  }

  // Matches the gate [.., S, 1] of each row of the scores.
  bool MatchGate(Value* value) {
    unsqueezed_ = false;
    const Node* gate = ProducerOf(BeforeColumn(value, unsqueezed_, facts_), "Sigmoid");
    if (gate == nullptr) return false;
    const Node* difference = ProducerOf(BeforeColumn(gate->input(0), unsqueezed_, facts_), "Sub");
    if (difference == nullptr) return false;
    const Node* sum = ProducerOf(difference->input(0), "ReduceLogSumExp");
    const int rank = facts_.RankOf(scores_);
    if (sum == nullptr || sum->input(0) != scores_ || OnlyAxis(*sum, rank, facts_) != rank - 1) {
      return false;
    }
    sink_ = difference->input(1);
    const bool kept = AttributeOr<int64_t>(*sum, "keepdims", 1) != 0;
    return kept != unsqueezed_ && facts_.RankOf(value) == rank && facts_.Extent(value, -1) == 1 &&
           HaveFiniteRows(scores_, context_, *gated_);
  }

  bool Write(Patch& patch) {
    const auto number = UniformOf(sink_);
    if (number.has_value() && !std::isfinite(*number)) return false;
    patch.Supersede({gated_, product_});
    Value* sink = number.has_value() ? nullptr : sink_;
    if (sink != nullptr && unsqueezed_) sink = patch.Op("Unsqueeze", {sink, patch.Ints({-1})});
    Value* p = SoftmaxBeside(patch, facts_, scores_, sink, number.value_or(0), gated_->name());
    if (p == nullptr) return false;
    p = patch.Cast(p, facts_.TypeOf(product_->input(0)));
    return patch.Replace(gated_->output(0), patch.Op("MatMul", {p, product_->input(1)}));
  }

  RuleContext& context_;
  Facts& facts_;
  Node* const gated_;
  Node* product_ = nullptr;
  Value* scores_ = nullptr;
  Value* sink_ = nullptr;
  // True if the axis of extent 1 comes behind the sum of exponentials.
  bool unsqueezed_ = false;
};

bool FuseGatedSoftmax(RuleContext& context, Node* gated, Patch& patch) {
  return GatedSoftmax(context, gated).Propose(patch);
}

}  // namespace

extern const Rule kGatedSoftmax = {
    .name = "softmax_with_sink",
    .summary = "A gate of the sum of exponentials becomes a sink of the Softmax",
    .anchors = {"Mul"},
    .propose = FuseGatedSoftmax};

}  // namespace attnrun::opt
