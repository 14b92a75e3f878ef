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
// The same holds for Gemm (alpha = beta = 1, A not transposed) and for a MatMul without a bias, and
// for weights of other formats: quantization/int8_linear.cc and nbit_linear.cc say how. If
// x is reshaped and keeps its last axis, the Linear moves above the Reshape, where others may share
// its input:
//
//   x -> Reshape([-1, D]) -> Linear -> y   becomes   x -> Linear -> Reshape([-1, N]) -> y
//
// A Gemm of two computed matrices that belongs to an attention becomes a MatMul.

#include "core/elements.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/linear/linear_match.h"

namespace attnrun::opt {
namespace {

bool IsMatrix(const Value* value) {
  return value != nullptr && value->is_constant() && value->constant()->rank() == 2 &&
         IsFloatingPoint(value->constant()->type());
}

bool MayBeMatrix(const Value* value, Facts& facts) {
  const int rank = facts.RankOf(value);
  return rank < 0 || rank == 2;
}

// True if the Gemm is one of the products of an attention.
bool IsOfAttention(const Node& gemm) {
  return ComesFromSoftmax(gemm.input(0)) || ComesFromSoftmax(gemm.input(1)) ||
         LeadsToProduct(gemm.output(0));
}

// Writes a Gemm of two computed matrices as a MatMul, which the rule for attention knows.
bool SplitGemm(RuleContext& context, Node* gemm, Patch& patch) {
  if (gemm->input(1)->is_constant() || !IsOfAttention(*gemm)) return false;
  for (const int i : {0, 1}) {
    if (!MayBeMatrix(gemm->input(i), context.facts)) return false;
  }
  const DataType type = context.facts.TypeOf(gemm->output(0));
  const auto operand = [&](size_t i, const char* transposed) {
    Value* x = gemm->input(i);
    const bool swap = AttributeOr<int64_t>(*gemm, transposed, 0) != 0;
    return swap ? patch.Transpose(x, {1, 0}) : x;
  };
  const auto times = [&](Value* x, const char* name) {
    return patch.Times(x, AttributeOr(*gemm, name, 1.0F));
  };
  if (!IsFloatingPoint(type)) return false;
  Value* y = patch.Op("MatMul", {operand(0, "transA"), operand(1, "transB")}, {}, gemm->name());
  y = times(y, "alpha");
  if (gemm->input(2) != nullptr) y = patch.Op("Add", {y, times(gemm->input(2), "beta")});
  return patch.Substitute(gemm, y);
}

// Reads a MatMul or a Gemm of floats. A Gemm of anything but matrices must still fail.
bool ReadFloatProduct(RuleContext& context, const Node& node, Patch& /*patch*/,
                      LinearMatch& match) {
  if (!IsMatrix(node.input(1)) || node.input(0)->is_constant() || !IsPlainGemm(node)) return false;
  if (IsOp(&node, "Gemm") && !MayBeMatrix(node.input(0), context.facts)) return false;
  match.parts.x = node.input(0);
  const bool transposed = AttributeOr<int64_t>(node, "transB", 0) != 0;
  match.parts.weights = {{{node.input(1)}, transposed}};
  match.term = node.input(2);
  return match.term == nullptr || IsBias(match.term, match.parts.Columns(), 2);
}

template <auto kRead>
bool FuseLinear(RuleContext& context, Node* node, Patch& patch) {
  LinearMatch match = {.nodes = {node}, .result = node->output(0)};
  if (!kRead(context, *node, patch, match)) return false;
  const int64_t columns = match.parts.Columns();
  Value* bias = match.term;
  if (bias == nullptr) {
    bias = TakeBiasAdd(context, columns, match);
  } else if (!IsBias(bias, columns, 2)) {
    bias = nullptr;
  }
  patch.Supersede(match.nodes);
  match.parts.bias = Flat(patch, bias);
  Value* y = match.parts.Write(patch, node->name());
  // A term that is no bias, such as a matrix, is added behind.
  if (match.term != nullptr && bias == nullptr) y = patch.Op("Add", {y, match.term});
  return patch.Replace(match.result, y);
}

bool FuseProduct(RuleContext& context, Node* node, Patch& patch) {
  return FuseLinear<ReadFloatProduct>(context, node, patch) ||
         FuseLinear<ReadDequantizedProduct>(context, node, patch);
}

bool FuseGemm(RuleContext& context, Node* node, Patch& patch) {
  return FuseProduct(context, node, patch) || SplitGemm(context, node, patch);
}

}  // namespace

extern const Rule kLinear = {
    .name = "linear",
    .summary =
        "A product with a constant matrix, of floats, bytes or n-bit codes, and its bias "
        "become attnrun.Linear",
    .starts = {{{"MatMul", FuseProduct},
                {"Gemm", FuseGemm},
                {"MatMulInteger", FuseLinear<ReadIntegerProduct>},
                {"com.microsoft.MatMulNBits", FuseLinear<ReadNBitProduct>}}},
    .aliases = {"quantized_linear", "block_quantized_linear"}};

}  // namespace attnrun::opt
