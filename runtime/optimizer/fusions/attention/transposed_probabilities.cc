#include "optimizer/fusions/attention/transposed_probabilities.h"

#include "optimizer/each_node.h"
#include "optimizer/node_queries.h"

namespace attnrun {
namespace {

// A Transpose that turns the matrices of a stack.
bool IsSwap(const Node* node) {
  if (!IsOp(node, "Transpose")) return false;
  const auto permutation = AttributeOr<std::vector<int64_t>>(*node, "perm", {});
  const int rank = static_cast<int>(permutation.size());
  return rank >= 2 && permutation == SwapOfLastTwo(rank);
}

// V P^T -> (P V^T)^T.
bool Propose(PassContext& context, Node* matmul, Patch& patch) {
  if (!IsOp(matmul, "MatMul")) return false;
  Value* v = matmul->input(0);
  Node* turn = matmul->input(1)->producer();
  if (!IsSwap(turn) || !IsOp(turn->input(0)->producer(), "Softmax")) return false;
  // Of two probabilities the first are in their place.
  if (IsOp(v->producer(), "Softmax")) return false;
  const int v_rank = context.facts.RankOf(v);
  const int rank = context.facts.RankOf(matmul->output(0));
  if (v->is_constant() || v_rank < 2 || rank < 2) return false;
  patch.Supersede({matmul});
  // A Transpose that nobody reads would still count as a reader of the probabilities.
  const Value* turned = turn->output(0);
  if (turned->consumers().size() == 1 && !context.graph.IsOutput(turned)) patch.Supersede({turn});
  Value* values = patch.Op("Transpose", {v}, {{"perm", SwapOfLastTwo(v_rank)}});
  Value* product = patch.Op("MatMul", {turn->input(0), values}, {}, matmul->name());
  patch.Replace(matmul->output(0),
                patch.Op("Transpose", {product}, {{"perm", SwapOfLastTwo(rank)}}));
  return true;
}

}  // namespace

absl::StatusOr<int> TurnTransposedProbabilities(PassContext& context) {
  return RewriteEachNode(context,
                         [&](Node* node, Patch& patch) { return Propose(context, node, patch); });
}

}  // namespace attnrun
