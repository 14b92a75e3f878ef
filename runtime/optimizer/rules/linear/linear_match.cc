// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/linear/linear_match.h"

#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {

bool IsPlainGemm(const Node& gemm) {
  return AttributeOr<int64_t>(gemm, "transA", 0) == 0 && AttributeOr(gemm, "alpha", 1.0F) == 1 &&
         (gemm.input(2) == nullptr || AttributeOr(gemm, "beta", 1.0F) == 1);
}

bool IsBias(const Value* value, int64_t columns, int rank) {
  if (value == nullptr || !value->is_constant()) return false;
  const Tensor& tensor = *value->constant();
  if (tensor.rank() == 0 || tensor.num_elements() != columns) return false;
  return tensor.dim(tensor.rank() - 1) == columns && (tensor.rank() == 1 || tensor.rank() <= rank);
}

Value* TakeBiasAdd(RuleContext& context, int64_t columns, LinearMatch& match) {
  Node* add = OnlyReader(context.graph, match.result, "Add");
  if (add == nullptr) return nullptr;
  Value* bias = OtherOperand(*add, match.result);
  if (!IsBias(bias, columns, context.facts.RankOf(match.result))) return nullptr;
  match.nodes.push_back(add);
  match.result = add->output(0);
  return bias;
}

}  // namespace attnrun::opt
