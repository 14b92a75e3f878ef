// SPDX-License-Identifier: Apache-2.0

// Quantized models multiply 8-bit integers by a constant matrix and scale the result to floats in
// several nodes. These become one operator:
//
//   x  W                                      x  W  b  x_scale  w_scale
//    \ /     x_scale  w_scale                  \  \  |    |     /
//  MatMulInteger  \    /                       QuantizedLinear
//      |           Mul              ->               |
//     Cast        /                                  y
//       \        /
//         Mul
//          |   b
//          Add
//           |
//           y
//
// The factors may stand in any order, separate or multiplied with each other first. The zero points
// of x and W stay. A missing x_scale or w_scale counts as 1.
//
// The rule also covers models with DequantizeLinear, whose product of floats can be computed
// exactly in the integers:
//
//   x  x_scale  x_zero   W  w_scale  w_zero
//    \    |     /         \    |     /            x  W  b  x_scale  x_zero  w_scale  w_zero
//   DequantizeLinear   DequantizeLinear            \  \  |    |       |       |      /
//          |           /                    ->              QuantizedLinear
//          MatMul, Gemm                                            |
//              |   b                                               y
//              Add
//               |
//               y
//
// W may be transposed in between, and x rearranged. The rounding of the values in x stays.

#include <vector>

#include "ops/linear/int8_linear.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/linear/linear_bias.h"
#include "optimizer/rules/quantization/quantized_operands.h"

namespace attnrun::opt {
namespace {

using Q = ops::Int8Linear;

// The nodes and operands that become one QuantizedLinear.
struct Match {
  std::vector<Node*> nodes;
  // Null means 1.
  Value* x_scale = nullptr;
  Value* w_scale = nullptr;
  Value* bias = nullptr;
  Value* result = nullptr;
};

bool IsMatrix(const Value* value) {
  return value != nullptr && value->is_constant() && value->constant()->rank() == 2;
}

// True if the constant has one element, or one for each column, and no more axes than such a row.
bool IsPerColumn(const Value& value, int64_t columns) {
  const Tensor& tensor = *value.constant();
  if (tensor.num_elements() == 1) return tensor.rank() <= 1;
  return tensor.shape() == Shape{columns};
}

// True if the value is one number that is not constant.
bool IsNumber(RuleContext& context, const Value* value) {
  const std::vector<SymInt>* dims = context.facts.DimsOf(value);
  return !value->is_constant() && dims != nullptr && dims->empty();
}

// Takes a constant factor; returns false if a factor was taken in its place before.
bool TakeConstant(Value* factor, int64_t columns, Match& match) {
  if (match.w_scale != nullptr || !IsPerColumn(*factor, columns)) return false;
  match.w_scale = factor;
  return true;
}

// Takes the two factors of a product of scales.
bool TakeProduct(RuleContext& context, const Node& product, int64_t columns, Match& match) {
  if (match.x_scale != nullptr || match.w_scale != nullptr) return false;
  for (const int side : {0, 1}) {
    Value* number = product.input(side);
    Value* constant = product.input(1 - side);
    if (!IsNumber(context, number) || !constant->is_constant()) continue;
    if (!TakeConstant(constant, columns, match)) continue;
    match.x_scale = number;
    return true;
  }
  return false;
}

// Takes a factor of the result; returns false if it cannot be one of the operator's scales.
bool TakeFactor(RuleContext& context, Value* factor, int64_t columns, Match& match) {
  if (context.facts.TypeOf(factor) != DataType::kFloat) return false;
  if (factor->is_constant()) return TakeConstant(factor, columns, match);
  Node* node = factor->producer();
  if (IsOp(node, "Mul") && TakeProduct(context, *node, columns, match)) return true;
  if (match.x_scale != nullptr || !IsNumber(context, factor)) return false;
  match.x_scale = factor;
  return true;
}

// Takes the Cast, the factors and the bias that follow the product.
bool TakeReaders(RuleContext& context, int64_t columns, Match& match) {
  Node* cast = OnlyReader(context.graph, match.result);
  if (!IsOp(cast, "Cast")) return false;
  if (context.facts.TypeOf(cast->output(0)) != DataType::kFloat) return false;
  match.nodes.push_back(cast);
  match.result = cast->output(0);
  for (Node* node = OnlyReader(context.graph, match.result); IsOp(node, "Mul");
       node = OnlyReader(context.graph, match.result)) {
    Value* factor = OtherOperand(*node, match.result);
    if (factor == match.result || !TakeFactor(context, factor, columns, match)) break;
    match.nodes.push_back(node);
    match.result = node->output(0);
  }
  if (match.x_scale == nullptr && match.w_scale == nullptr) return false;
  match.bias = TakeBiasAdd(context, columns, match.nodes, match.result);
  return true;
}

// True if the zero point of x is one number and that of W a constant for each column.
bool HasPlainZeroPoints(RuleContext& context, const Node& node, int64_t columns) {
  const Value* x = node.input(2);
  const Value* w = node.input(3);
  if (w != nullptr && (!w->is_constant() || !IsPerColumn(*w, columns))) return false;
  if (x == nullptr) return true;
  const std::vector<SymInt>* dims = context.facts.DimsOf(x);
  return dims != nullptr && dims->empty();
}

Value* OrOne(Patch& patch, Value* scale) {
  return scale != nullptr ? scale : patch.Constant("scale", Tensor::Of<float>({}, {1}));
}

bool ProposeIntegers(RuleContext& context, Node* node, Patch& patch) {
  if (!IsOp(node, "MatMulInteger") || !IsMatrix(node->input(1))) return false;
  const int64_t columns = node->input(1)->constant()->dim(1);
  if (!HasPlainZeroPoints(context, *node, columns)) return false;
  Match match;
  match.nodes = {node};
  match.result = node->output(0);
  if (!TakeReaders(context, columns, match)) return false;
  patch.Supersede(match.nodes);
  std::vector<Value*> inputs(Q::kMoreWeights, nullptr);
  inputs[Q::kX] = node->input(0);
  inputs[Q::kWeight] = node->input(1);
  inputs[Q::kBias] = FlatBias(patch, match.bias);
  inputs[Q::kXScale] = OrOne(patch, match.x_scale);
  inputs[Q::kXZeroPoint] = node->input(2);
  inputs[Q::kWeightScale] = OrOne(patch, match.w_scale);
  inputs[Q::kWeightZeroPoint] = node->input(3);
  patch.Replace(match.result, patch.Op("attnrun::QuantizedLinear", inputs, {}, node->name()));
  return true;
}

Value* ColumnsLast(Patch& patch, const QuantizedWeight& weight) {
  if (!weight.transposed) return weight.value;
  const Tensor& matrix = *weight.value->constant();
  const int64_t rows = matrix.dim(1);
  const Tensor transposed = matrix.View({rows, matrix.dim(0)}, {1, rows}, 0);
  return patch.Constant(weight.value->name(), transposed.Dense());
}

// Takes the bias of a Gemm, or of an Add that follows, if it has one element for each column.
void TakeBias(RuleContext& context, int64_t columns, Match& match) {
  Value* of_gemm = match.nodes[0]->input(2);
  if (of_gemm != nullptr) {
    if (IsBias(of_gemm, columns, 2)) match.bias = of_gemm;
    return;
  }
  match.bias = TakeBiasAdd(context, columns, match.nodes, match.result);
}

bool ProposeFloats(RuleContext& context, Node* node, Patch& patch) {
  const auto product = ReadQuantizedProduct(*node, context.facts);
  if (!product.has_value()) return false;
  const QuantizedWeight& weight = product->weight;
  Match match;
  match.nodes = {node};
  match.result = node->output(0);
  TakeBias(context, weight.columns(), match);
  patch.Supersede(match.nodes);
  std::vector<Value*> inputs(Q::kMoreWeights, nullptr);
  inputs[Q::kX] = Arranged(patch, product->x);
  inputs[Q::kWeight] = ColumnsLast(patch, weight);
  inputs[Q::kBias] = FlatBias(patch, match.bias);
  inputs[Q::kXScale] = product->x.scale;
  inputs[Q::kXZeroPoint] = product->x.zero_point;
  inputs[Q::kWeightScale] = weight.scale;
  inputs[Q::kWeightZeroPoint] = weight.zero_point;
  Value* y = patch.Op("attnrun::QuantizedLinear", inputs, {}, node->name());
  // The term of a Gemm that is no bias, such as a matrix, is added behind.
  Value* term = node->input(2);
  if (term != nullptr && match.bias == nullptr) y = patch.Op("Add", {y, term});
  patch.Replace(match.result, y);
  return true;
}

bool FuseQuantizedLinear(RuleContext& context, Node* node, Patch& patch) {
  return ProposeIntegers(context, node, patch) || ProposeFloats(context, node, patch);
}

}  // namespace

extern const Rule kQuantizedLinear = {
    .name = "quantized_linear",
    .summary =
        "A product of 8-bit integers with its scales and bias becomes attnrun.QuantizedLinear",
    .anchors = {"MatMulInteger", "MatMul", "Gemm"},
    .propose = FuseQuantizedLinear};

}  // namespace attnrun::opt
