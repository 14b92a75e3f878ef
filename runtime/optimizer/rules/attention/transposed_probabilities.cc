// SPDX-License-Identifier: Apache-2.0

// Models that keep channels before positions multiply V by transposed probabilities. The product is
// computed from the probabilities as they are; V and the result are transposed instead, where other
// Transposes often cancel these:
//
//   v [...,H,T]    softmax [...,S,T]           softmax [...,S,T]   v [...,H,T]
//        |            |                              |                |
//        |        Transpose                          |            Transpose
//         \          /                    ->          \              /
//            MatMul                                        MatMul
//              |                                             |
//              |                                         Transpose
//              |                                             |
//          y [...,H,S]                                   y [...,H,S]
//
// The rule also covers probabilities whose samples and heads change places before the product. A
// Softmax over queries that is only read transposed becomes one over the last axis of transposed
// scores.

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/score_order.h"

namespace attnrun::opt {
namespace {

// True for a Transpose that transposes the matrices of a stack.
bool IsSwap(const Node* node) {
  if (!IsOp(node, "Transpose")) return false;
  const auto permutation = AttributeOr<std::vector<int64_t>>(*node, "perm", {});
  const int rank = static_cast<int>(permutation.size());
  return rank >= 2 && permutation == SwapOfLastTwo(rank);
}

// Rewrites V P^T to (P V^T)^T.
bool Propose(RuleContext& context, Node* matmul, Patch& patch) {
  if (!IsOp(matmul, "MatMul")) return false;
  Value* v = matmul->input(0);
  Node* transpose = matmul->input(1)->producer();
  if (!IsSwap(transpose) || !IsOp(transpose->input(0)->producer(), "Softmax")) return false;
  // If both operands are probabilities, the first is already in its place.
  if (IsOp(v->producer(), "Softmax")) return false;
  const int v_rank = context.facts.RankOf(v);
  const int rank = context.facts.RankOf(matmul->output(0));
  if (v->is_constant() || v_rank < 2 || rank < 2) return false;
  patch.Supersede({matmul});
  // A Transpose that nobody reads would still count as a reader of the probabilities.
  const Value* transposed = transpose->output(0);
  if (transposed->consumers().size() == 1 && !context.graph.IsOutput(transposed))
    patch.Supersede({transpose});
  Value* values = patch.Op("Transpose", {v}, {{"perm", SwapOfLastTwo(v_rank)}});
  Value* product = patch.Op("MatMul", {transpose->input(0), values}, {}, matmul->name());
  patch.Replace(matmul->output(0),
                patch.Op("Transpose", {product}, {{"perm", SwapOfLastTwo(rank)}}));
  return true;
}

// Rewrites P' V to (P V')', where ' rearranges samples and heads.
bool ProposeStacks(RuleContext& context, Node* matmul, Patch& patch) {
  if (!IsOp(matmul, "MatMul")) return false;
  Node* transpose = matmul->input(0)->producer();
  Value* v = matmul->input(1);
  const std::vector<int64_t> order = StackOrder(transpose, context.facts.RankOf(v));
  if (order.empty() || !IsOp(transpose->input(0)->producer(), "Softmax")) return false;
  if (v->is_constant()) return false;
  patch.Supersede({transpose, matmul});
  if (!patch.Admits({matmul->output(0)}, nullptr)) return false;
  Value* values = patch.Op("Transpose", {v}, {{"perm", Inverse(order)}});
  Value* product = patch.Op("MatMul", {transpose->input(0), values}, {}, matmul->name());
  patch.Replace(matmul->output(0), patch.Op("Transpose", {product}, {{"perm", order}}));
  return true;
}

// Rewrites softmax(S, over rows)^T to softmax(S^T, over columns).
bool ProposeOverRows(RuleContext& context, Node* transpose, Patch& patch) {
  if (!IsSwap(transpose)) return false;
  Node* softmax = transpose->input(0)->producer();
  if (!IsOp(softmax, "Softmax") || softmax->opset() < 13) return false;
  const int rank = context.facts.RankOf(transpose->input(0));
  const int64_t axis = AttributeOr<int64_t>(*softmax, "axis", -1);
  if (rank < 2 || (axis != -2 && axis != rank - 2)) return false;
  if (transpose->input(0)->consumers().size() != 1) return false;
  patch.Supersede({softmax, transpose});
  if (!patch.Admits({transpose->output(0)}, nullptr)) return false;
  Value* scores = patch.Op("Transpose", {softmax->input(0)}, {{"perm", SwapOfLastTwo(rank)}});
  patch.Replace(transpose->output(0),
                patch.Op("Softmax", {scores}, {{"axis", int64_t{-1}}}, softmax->name()));
  return true;
}

bool UndoTransposedProbabilities(RuleContext& context, Node* node, Patch& patch) {
  return Propose(context, node, patch) || ProposeStacks(context, node, patch) ||
         ProposeOverRows(context, node, patch);
}

}  // namespace

extern const Rule kTransposedProbabilities = {
    .name = "transposed_probabilities",
    .summary =
        "Probabilities that are transposed before the product with V are multiplied in their order",
    .anchors = {"MatMul", "Transpose"},
    .propose = UndoTransposedProbabilities};

}  // namespace attnrun::opt
