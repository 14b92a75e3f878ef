#include "optimizer/fusions/attention/stacked_scores.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/each_node.h"
#include "optimizer/fusions/attention/row_factors.h"
#include "optimizer/fusions/attention/score_order.h"
#include "optimizer/node_queries.h"

namespace attnrun {
namespace {

using Order = std::vector<int64_t>;

bool IsElementwise(const Node* node) { return IsScoreArithmetic(node) || IsOp(node, "Tanh"); }

// The values from a Softmax down to the Transpose of a product.
class ProductOrder {
 public:
  ProductOrder(PassContext& context, Patch& patch) : context_(context), patch_(patch) {}

  // Whether such a Transpose is there, each node up to it having one reader.
  bool Find(const Value* value, int steps = 12) {
    const Node* node = value->producer();
    if (steps == 0 || node == nullptr || !IsReadOnce(value)) return false;
    order_ = StackOrder(node, context_.facts.RankOf(value));
    if (!order_.empty()) return IsOp(node->input(0)->producer(), "MatMul");
    return IsElementwise(node) && absl::c_any_of(node->inputs(), [&](const Value* input) {
             return Find(input, steps - 1);
           });
  }

  // The value as the product has its matrices; null if its rank is not known.
  Value* Of(Value* value) {
    const int rank = context_.facts.RankOf(value);
    const int full = static_cast<int>(order_.size());
    Node* node = value->producer();
    if (rank < 0 || rank > full) return nullptr;
    // One matrix for the whole stack, or less.
    if (rank <= 2) return value;
    if (rank < full) {
      Order added(full - rank);
      absl::c_iota(added, 0);
      value = patch_.Op("Unsqueeze", {value, patch_.Ints(added)});
    } else if (IsTranspose(node, order_)) {
      return node->input(0);
    } else if (IsElementwise(node) && IsReadOnce(value)) {
      return Rebuilt(node);
    }
    return patch_.Op("Transpose", {value}, {{"perm", Inverse(order_)}});
  }

  const Order& order() const { return order_; }

 private:
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

  PassContext& context_;
  Patch& patch_;
  Order order_;
};

bool KeepOrder(PassContext& context, Node* softmax, Patch& patch) {
  ProductOrder product(context, patch);
  if (!product.Find(softmax->input(0))) return false;
  if (!IsOverKeys(*softmax, static_cast<int>(product.order().size()))) return false;
  Value* scores = product.Of(softmax->input(0));
  if (scores == nullptr) return false;
  TransposeBehind(softmax, scores, product.order(), patch);
  return true;
}

// Queries [B,G,H,S,D] by keys [B,1,H,D,T] that groups share, each group's heads side by side: the
// product is made with the heads before the groups, as heads that share keys are laid out.
bool PutGroupsLast(PassContext& context, Node* matmul, Patch& patch) {
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

}  // namespace

absl::StatusOr<int> KeepOrderOfScores(PassContext& context) {
  return RewriteEachNode(context, [&](Node* node, Patch& patch) {
    return (IsOp(node, "MatMul") && PutGroupsLast(context, node, patch)) ||
           (IsOp(node, "Softmax") && KeepOrder(context, node, patch));
  });
}

}  // namespace attnrun
