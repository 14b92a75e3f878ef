// SPDX-License-Identifier: Apache-2.0

// einsum("bshd,bthd->bsht"), as DeepSeek's own code has it, gives scores whose heads stand behind
// the queries, [B,S,N,T]. They are computed as [B,N,S,T], the order that the attention rule knows:
//
//   MatMul [B,N,S,T]                        MatMul [B,N,S,T]
//      |                                       |
//   Transpose(0,2,1,3)   m [S,1,T]             |     Transpose(m) [1,S,T]
//       |________________|                      |_____|
//              Add                ->              Add
//               |                                  |
//            Softmax                            Softmax
//               |                                  |
//             [B,S,N,T]                    Transpose(0,2,1,3)
//
// Products with keys or values that all heads share, [B,1,T,H], are rewritten in the same way.

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/score_order.h"

namespace attnrun::opt {
namespace {

constexpr int kRank = 4;
const std::vector<int64_t>& ExchangeOrder() {
  static const auto* const order = new std::vector<int64_t>{0, 2, 1, 3};
  return *order;
}

bool IsExchange(const Node* node) { return IsTranspose(node, ExchangeOrder()); }

// True if the right operand has extent 1 on axis 1, so that the left operand's rows may change
// places with this axis.
bool IsShared(const Node* node, Facts& facts) {
  if (!IsOp(node, "MatMul")) return false;
  const std::vector<SymInt>* dims = facts.DimsOf(node->input(1));
  return dims != nullptr && dims->size() == kRank && (*dims)[1].is_constant(1) &&
         facts.RankOf(node->input(0)) == kRank;
}

// The values from the Softmax up to the products, with axes 1 and 2 exchanged.
class TransposedScores {
 public:
  TransposedScores(RuleContext& context, Patch& patch) : context_(context), patch_(patch) {}

  // True if one of the products has its heads after the queries: it is transposed so, or axis 2 has
  // a fixed extent and axis 1 has not.
  bool HaveProduct(const Value* value, int steps = 12) {
    const Node* node = value->producer();
    if (steps == 0 || node == nullptr || context_.facts.RankOf(value) != kRank) return false;
    if (IsExchange(node)) return IsOp(node->input(0)->producer(), "MatMul");
    if (IsShared(node, context_.facts)) {
      const std::vector<SymInt>& dims = *context_.facts.DimsOf(value);
      return !dims[1].constant().has_value() && dims[2].constant().has_value();
    }
    return IsScoreArithmetic(node) && absl::c_any_of(node->inputs(), [&](const Value* input) {
             return HaveProduct(input, steps - 1);
           });
  }

  // The value with the axes exchanged; null if its rank is not known.
  Value* Of(Value* value) {
    const int rank = context_.facts.RankOf(value);
    Node* node = value->producer();
    if (rank < 0 || rank > kRank) return nullptr;
    if (rank < 2) return value;
    if (rank == 2) return patch_.Op("Unsqueeze", {value, patch_.Ints({1})});
    if (rank == 3)
      return patch_.Op("Transpose", {value}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    if (IsExchange(node)) return node->input(0);
    const bool alone = value->consumers().size() == 1 && !context_.graph.IsOutput(value);
    if (alone && IsShared(node, context_.facts)) {
      return Rebuilt(node, {Transposed(node->input(0)), node->input(1)});
    }
    if (!alone || !IsScoreArithmetic(node)) return Transposed(value);
    std::vector<Value*> inputs;
    for (Value* input : node->inputs()) inputs.push_back(Of(input));
    return absl::c_linear_search(inputs, nullptr) ? nullptr : Rebuilt(node, inputs);
  }

 private:
  Value* Transposed(Value* value) {
    return patch_.Op("Transpose", {value}, {{"perm", ExchangeOrder()}});
  }
  Value* Rebuilt(Node* node, const std::vector<Value*>& inputs) {
    patch_.Supersede({node});
    return patch_.Op(node->op_type(), inputs, node->attributes(), node->name());
  }

  RuleContext& context_;
  Patch& patch_;
};

bool TransposeSoftmax(RuleContext& context, Node* softmax, Patch& patch) {
  if (!IsOverKeys(*softmax, kRank)) return false;
  TransposedScores transposed(context, patch);
  if (!transposed.HaveProduct(softmax->input(0))) return false;
  Value* scores = transposed.Of(softmax->input(0));
  if (scores == nullptr) return false;
  TransposeBehind(softmax, scores, ExchangeOrder(), patch);
  return true;
}

// Rewrites P' V to (P V)', where ' exchanges the axes and all heads share V.
bool TransposeProduct(RuleContext& context, Node* matmul, Patch& patch) {
  Node* transpose = matmul->input(0)->producer();
  if (!IsExchange(transpose) || !IsOp(transpose->input(0)->producer(), "Softmax")) return false;
  if (!IsShared(matmul, context.facts)) return false;
  patch.Supersede({matmul});
  const Value* transposed = transpose->output(0);
  if (transposed->consumers().size() == 1 && !context.graph.IsOutput(transposed))
    patch.Supersede({transpose});
  Value* y = patch.Op("MatMul", {transpose->input(0), matmul->input(1)}, {}, matmul->name());
  patch.Replace(matmul->output(0), patch.Op("Transpose", {y}, {{"perm", ExchangeOrder()}}));
  return true;
}

bool TransposeScoresByQuery(RuleContext& context, Node* node, Patch& patch) {
  return (IsOp(node, "Softmax") && TransposeSoftmax(context, node, patch)) ||
         (IsOp(node, "MatMul") && TransposeProduct(context, node, patch));
}

}  // namespace

extern const Rule kScoresByQuery = {
    .name = "scores_by_query",
    .summary = "Scores computed with the heads after the queries are computed head by head",
    .anchors = {"Softmax", "MatMul"},
    .propose = TransposeScoresByQuery};

}  // namespace attnrun::opt
