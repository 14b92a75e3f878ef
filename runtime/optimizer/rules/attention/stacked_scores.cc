// SPDX-License-Identifier: Apache-2.0

// einsum("bghnd,bhsd->bghns") and the like transpose the matrices of a product of scores before the
// Softmax, here the groups of heads. The scores keep the product's order up to the Softmax, so that
// the attention rule finds the product:
//
//   MatMul [B,H,G,S,T]                        MatMul [B,H,G,S,T]
//      |                                         |
//   Transpose(0,2,1,3,4)   m [G,H,S,T]           |     Transpose(m) [1,H,G,S,T]
//       |____________________|                   |______|
//                Add                ->              Add
//                 |                                  |
//              Softmax                            Softmax
//                 |                                  |
//           [B,G,H,S,T]                     Transpose(0,2,1,3,4)
//
// The rule also covers scores whose keys are not the last axis, where the Softmax is over the axis
// of the keys.

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/row_factors.h"
#include "optimizer/rules/attention/score_order.h"

namespace attnrun::opt {
namespace {

using Order = std::vector<int64_t>;

bool KeepsPlaces(const Node* node) { return IsScoreArithmetic(node) || IsOp(node, "Tanh"); }

// The values from a Softmax up to the Transpose of a product.
class ProductOrder {
 public:
  ProductOrder(RuleContext& context, Patch& patch) : context_(context), patch_(patch) {}

  // True if the value comes, over nodes with one reader each, from such a Transpose that moves the
  // keys to `axis`.
  bool Find(const Value* value, int axis, int steps = 12) {
    const Node* node = value->producer();
    if (steps == 0 || node == nullptr || !IsReadOnce(value)) return false;
    if (IsOp(node, "Transpose")) {
      transpose_ = node;
      return FindIn(*node, axis);
    }
    return KeepsPlaces(node) && absl::c_any_of(node->inputs(), [&](const Value* input) {
             return Find(input, axis, steps - 1);
           });
  }

  // The value with its matrices in the product's order; null if its rank is not known.
  Value* Of(Value* value) {
    const int rank = context_.facts.RankOf(value);
    const int full = static_cast<int>(order_.size());
    Node* node = value->producer();
    if (rank < 0 || rank > full) return nullptr;
    // A value of one matrix or less broadcasts to the whole stack in any order.
    if (rank == 0 || (keeps_matrices_ && rank <= 2)) return value;
    if (rank < full) {
      Order added(full - rank);
      absl::c_iota(added, 0);
      value = patch_.Op("Unsqueeze", {value, patch_.Ints(added)});
    } else if (node == transpose_) {
      if (!keys_are_rows_) return node->input(0);
      return patch_.Op("Transpose", {node->input(0)}, {{"perm", SwapOfLastTwo(rank)}});
    } else if (KeepsPlaces(node) && IsReadOnce(value)) {
      return Rebuilt(node);
    }
    return patch_.Op("Transpose", {value}, {{"perm", Inverse(order_)}});
  }

  const Order& order() const { return order_; }

 private:
  // True if the Transpose rearranges a product of scores and moves the keys to `axis`.
  bool FindIn(const Node& transpose, int axis) {
    const int rank = context_.facts.RankOf(transpose.input(0));
    const auto order = PermutationOf(transpose, rank);
    double scale = 1;
    Node* product = transpose.input(0)->producer();
    const Value* scaled = product == nullptr ? nullptr : ScaledOperand(*product, scale);
    if (!IsOp(scaled == nullptr ? product : scaled->producer(), "MatMul")) return false;
    if (rank < 3 || axis >= rank || !order.has_value()) return false;
    order_ = *order;
    keys_are_rows_ = order_[axis] == rank - 2;
    if (keys_are_rows_) {
      const Order swap = SwapOfLastTwo(rank);
      absl::c_transform(order_, order_.begin(), [&](int64_t from) { return swap[from]; });
    }
    keeps_matrices_ = order_[rank - 2] == rank - 2 && order_[rank - 1] == rank - 1;
    // Where the Softmax is over the last axis, another product may have the queries there.
    if (axis == rank - 1 && (keys_are_rows_ || !keeps_matrices_)) return false;
    return order_[axis] == rank - 1 && !absl::c_is_sorted(order_);
  }

  bool IsReadOnce(const Value* value) const {
    return value->consumers().size() == 1 && !context_.graph.IsOutput(value);
  }

  Value* Rebuilt(Node* node) {
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(Of(input));
    if (absl::c_linear_search(inputs, nullptr)) return nullptr;
    patch_.Supersede({node});
    return patch_.Op(node->op_type(), inputs, node->attributes(), node->name());
  }

  RuleContext& context_;
  Patch& patch_;
  Order order_;
  bool keeps_matrices_ = false;
  // True if the product has keys as rows and queries as columns.
  bool keys_are_rows_ = false;
  const Node* transpose_ = nullptr;
};

bool KeepOrder(RuleContext& context, Node* softmax, Patch& patch) {
  const int rank = context.facts.RankOf(softmax->input(0));
  const int64_t axis = AttributeOr<int64_t>(*softmax, "axis", -1);
  if (softmax->opset() < 13 || rank < 3 || axis < -rank || axis >= rank) return false;
  ProductOrder product(context, patch);
  if (!product.Find(softmax->input(0), axis < 0 ? axis + rank : axis)) return false;
  Value* scores = product.Of(softmax->input(0));
  if (scores == nullptr) return false;
  TransposeBehind(softmax, scores, product.order(), patch);
  return true;
}

// Queries [B,G,H,S,D] times keys [B,1,H,D,T] that all groups share: makes the product with the
// heads before the groups, so that the heads of Q that share a head of K are neighbours.
bool PutGroupsLast(RuleContext& context, Node* matmul, Patch& patch) {
  constexpr int kRank = 5;
  const std::vector<SymInt>* q = context.facts.DimsOf(matmul->input(0));
  const std::vector<SymInt>* k = context.facts.DimsOf(matmul->input(1));
  if (q == nullptr || k == nullptr || q->size() != kRank || k->size() != kRank) return false;
  const bool shared = (*k)[1].is_constant(1) && !(*q)[1].is_constant(1) && (*q)[2] == (*k)[2];
  const int64_t heads = (*k)[2].constant().value_or(1);
  if (!shared || heads == 1 || !LeadsToSoftmax(*matmul->output(0))) return false;
  const AttributeMap exchange = {{"perm", Order{0, 2, 1, 3, 4}}};
  patch.Supersede({matmul});
  Value* product = patch.Op("MatMul",
                            {patch.Op("Transpose", {matmul->input(0)}, exchange),
                             patch.Op("Transpose", {matmul->input(1)}, exchange)},
                            {}, matmul->name());
  patch.Replace(matmul->output(0), patch.Op("Transpose", {product}, exchange));
  return true;
}

bool KeepOrderOfScores(RuleContext& context, Node* node, Patch& patch) {
  return (IsOp(node, "MatMul") && PutGroupsLast(context, node, patch)) ||
         (IsOp(node, "Softmax") && KeepOrder(context, node, patch));
}

}  // namespace

extern const Rule kStackedScores = {
    .name = "stacked_scores",
    .summary = "Scores of grouped heads keep the order in which the product gives them",
    .anchors = {"MatMul", "Softmax"},
    .propose = KeepOrderOfScores};

}  // namespace attnrun::opt
