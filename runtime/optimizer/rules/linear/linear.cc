// SPDX-License-Identifier: Apache-2.0

// Exporters write a projection as a MatMul with a constant matrix and an Add of its bias, or as a
// Gemm. Both become attnrun.Linear:
//
//   x   W                     x   W   b
//    \ /                       \  |  /
//   MatMul   b       ->        Linear
//        \  /                     |
//        Add                      y
//         |
//         y
//
// The same holds for Gemm (alpha = beta = 1, A not transposed) and for a MatMul without a bias. If
// x is reshaped and keeps its last axis, the Linear moves above the Reshape, where others may share
// its input:
//
//   x -> Reshape([-1, D]) -> Linear -> y   becomes   x -> Linear -> Reshape([-1, N]) -> y

#include <algorithm>

#include "ops/linear/linear.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/linear/linear_bias.h"

namespace attnrun::opt {
namespace {

// The nodes and operands that become one Linear.
struct Match {
  std::vector<Node*> nodes;
  Value* x = nullptr;
  Value* weight = nullptr;
  Value* bias = nullptr;
  bool transposed_weight = false;
  Value* result = nullptr;
};

bool IsFloating(DataType type) {
  return type == DataType::kFloat || type == DataType::kFloat16 || type == DataType::kBfloat16 ||
         type == DataType::kDouble;
}

bool IsMatrix(const Value* value) {
  return value != nullptr && value->is_constant() && value->constant()->rank() == 2 &&
         IsFloating(value->constant()->type());
}

// True if a Gemm is X·W + b with X of rank 2; fills `match`.
bool ReadGemm(const Node& node, Match& match) {
  const bool plain = AttributeOr<int64_t>(node, "transA", 0) == 0;
  if (!plain || AttributeOr(node, "alpha", 1.0F) != 1) return false;
  match.transposed_weight = AttributeOr<int64_t>(node, "transB", 0) != 0;
  if (node.input(2) == nullptr) return true;
  const int64_t columns = match.weight->constant()->dim(match.transposed_weight ? 0 : 1);
  if (AttributeOr(node, "beta", 1.0F) != 1 || !IsBias(node.input(2), columns, 2)) return false;
  match.bias = node.input(2);
  return true;
}

// Takes the bias of an Add that is the product's only reader.
void TakeBias(RuleContext& context, Match& match) {
  if (match.bias != nullptr) return;
  const int64_t columns = match.weight->constant()->dim(match.transposed_weight ? 0 : 1);
  match.bias = TakeBiasAdd(context, columns, match.nodes, match.result);
}

bool FuseLinear(RuleContext& context, Node* node, Patch& patch) {
  const bool is_gemm = IsOp(node, "Gemm");
  Match match;
  match.x = node->input(0);
  match.weight = node->input(1);
  match.nodes = {node};
  match.result = node->output(0);
  if (!IsMatrix(match.weight) || match.x->is_constant()) return false;
  if (is_gemm && !ReadGemm(*node, match)) return false;
  TakeBias(context, match);
  patch.Supersede(match.nodes);
  AttributeMap attributes;
  if (match.transposed_weight) attributes[ops::Linear::kTransposed] = std::vector<int64_t>{1};
  std::vector<Value*> inputs = {match.x, match.weight};
  if (match.bias != nullptr) inputs.push_back(FlatBias(patch, match.bias));
  patch.Replace(match.result, patch.Op("attnrun::Linear", inputs, attributes, node->name()));
  return true;
}

}  // namespace

extern const Rule kLinear = {
    .name = "linear",
    .summary = "A product with a constant matrix and its bias become attnrun.Linear",
    .anchors = {"MatMul", "Gemm"},
    .propose = FuseLinear};

}  // namespace attnrun::opt
