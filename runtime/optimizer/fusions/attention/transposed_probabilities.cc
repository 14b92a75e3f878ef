#include "optimizer/fusions/attention/transposed_probabilities.h"

#include <numeric>
#include <utility>

#include "optimizer/fusions/each_node.h"

namespace attnrun {
namespace {

bool Is(const Node* node, absl::string_view op_type) {
  return node != nullptr && node->domain().empty() && node->op_type() == op_type;
}

// The permutation that exchanges the last two of `rank` axes.
std::vector<int64_t> Swap(int rank) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return permutation;
}

// A Transpose that turns the matrices of a stack.
bool IsSwap(const Node* node) {
  if (!Is(node, "Transpose") || node->attribute("perm") == nullptr) return false;
  const auto& permutation = std::get<std::vector<int64_t>>(*node->attribute("perm"));
  return permutation.size() >= 2 && permutation == Swap(static_cast<int>(permutation.size()));
}

// V P^T -> (P V^T)^T.
bool Propose(PassContext& context, Node* matmul, Patch& patch) {
  if (!Is(matmul, "MatMul")) return false;
  Value* v = matmul->input(0);
  Node* turn = matmul->input(1)->producer();
  if (!IsSwap(turn) || !Is(turn->input(0)->producer(), "Softmax")) return false;
  // Of two probabilities the first are in their place.
  if (Is(v->producer(), "Softmax")) return false;
  const int v_rank = context.facts.RankOf(v);
  const int rank = context.facts.RankOf(matmul->output(0));
  if (v->is_constant() || v_rank < 2 || rank < 2) return false;
  patch.Supersede({matmul});
  // A Transpose that nobody reads would still count as a reader of the probabilities.
  const Value* turned = turn->output(0);
  if (turned->consumers().size() == 1 && !context.graph.IsOutput(turned)) patch.Supersede({turn});
  Value* values = patch.Op("Transpose", {v}, {{"perm", Swap(v_rank)}});
  Value* product = patch.Op("MatMul", {turn->input(0), values}, {}, matmul->name());
  patch.Replace(matmul->output(0), patch.Op("Transpose", {product}, {{"perm", Swap(rank)}}));
  return true;
}

}  // namespace

absl::StatusOr<int> TurnTransposedProbabilities(PassContext& context) {
  return RewriteEachNode(context,
                         [&](Node* node, Patch& patch) { return Propose(context, node, patch); });
}

}  // namespace attnrun
