// SPDX-License-Identifier: Apache-2.0

// Models with 8-bit weights multiply bytes by a constant matrix and scale the result to floats in
// several nodes. The rule `linear` makes these one operator, a Linear {format = "int8"}:
//
//   x  W                                      x  W  b  x_scale  w_scale
//    \ /     x_scale  w_scale                  \  \  |    |     /
//  MatMulInteger  \    /                       Linear
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
// So it does in models with DequantizeLinear, whose product of floats can be computed
// exactly in the integers:
//
//   x  x_scale  x_zero   W  w_scale  w_zero
//    \    |     /         \    |     /            x  W  b  x_scale  x_zero  w_scale  w_zero
//   DequantizeLinear   DequantizeLinear            \  \  |    |       |       |      /
//          |           /                    ->              Linear
//          MatMul, Gemm                                            |
//              |   b                                               y
//              Add
//               |
//               y
//
// W may be transposed in between, and x rearranged. The rounding of the values in x stays.

#include <vector>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rules/linear/linear_match.h"
#include "optimizer/rules/quantization/qdq_operands.h"

namespace attnrun::opt {
namespace {

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
bool TakeConstant(Value* factor, int64_t columns, LinearMatch& match) {
  if (match.parts.weights[0].scales != nullptr || !IsPerColumn(*factor, columns)) return false;
  match.parts.weights[0].scales = factor;
  return true;
}

// Takes the two factors of a product of scales.
bool TakeProduct(RuleContext& context, const Node& product, int64_t columns, LinearMatch& match) {
  if (match.parts.x_scale != nullptr || match.parts.weights[0].scales != nullptr) return false;
  for (const auto& [number, constant] : ReadingsOf(&product)) {
    if (!IsNumber(context, number) || !constant->is_constant()) continue;
    if (!TakeConstant(constant, columns, match)) continue;
    match.parts.x_scale = number;
    return true;
  }
  return false;
}

// Takes a factor of the result; returns false if it cannot be one of the operator's scales.
bool TakeFactor(RuleContext& context, Value* factor, int64_t columns, LinearMatch& match) {
  if (context.facts.TypeOf(factor) != DataType::kFloat) return false;
  if (factor->is_constant()) return TakeConstant(factor, columns, match);
  const Node* node = ProducerOf(factor, "Mul");
  if (node != nullptr && TakeProduct(context, *node, columns, match)) return true;
  if (match.parts.x_scale != nullptr || !IsNumber(context, factor)) return false;
  match.parts.x_scale = factor;
  return true;
}

// Takes the Cast and the factors that follow the product.
bool TakeReaders(RuleContext& context, int64_t columns, LinearMatch& match) {
  Node* cast = OnlyReader(context.graph, match.result, "Cast");
  if (cast == nullptr || context.facts.TypeOf(cast->output(0)) != DataType::kFloat) return false;
  match.nodes.push_back(cast);
  match.result = cast->output(0);
  while (Node* node = OnlyReader(context.graph, match.result, "Mul")) {
    Value* factor = OtherOperand(*node, match.result);
    if (factor == match.result || !TakeFactor(context, factor, columns, match)) break;
    match.nodes.push_back(node);
    match.result = node->output(0);
  }
  return match.parts.x_scale != nullptr || match.parts.weights[0].scales != nullptr;
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

// The weight with its columns along the second axis, as an int8 Linear takes it.
LinearWeightParts ColumnsLast(Patch& patch, LinearWeightParts weight) {
  if (!weight.transposed) return weight;
  const Tensor& matrix = *weight.values->constant();
  const int64_t rows = matrix.dim(1);
  const Tensor transposed = matrix.View({rows, matrix.dim(0)}, {1, rows}, 0);
  weight.values = patch.Constant(weight.values->name(), transposed.Dense());
  weight.transposed = false;
  return weight;
}

}  // namespace

bool ReadIntegerProduct(RuleContext& context, const Node& node, Patch& patch, LinearMatch& match) {
  if (!IsMatrix(node.input(1))) return false;
  const int64_t columns = node.input(1)->constant()->dim(1);
  if (!HasPlainZeroPoints(context, node, columns)) return false;
  LinearParts& parts = match.parts;
  parts.format = ops::LinearFormat::kInt8;
  parts.x = node.input(0);
  parts.x_zero_point = node.input(2);
  parts.weights = {{{node.input(1), nullptr, node.input(3)}}};
  if (!TakeReaders(context, columns, match)) return false;
  parts.x_scale = OrOne(patch, parts.x_scale);
  parts.weights[0].scales = OrOne(patch, parts.weights[0].scales);
  return true;
}

bool ReadDequantizedProduct(RuleContext& context, const Node& node, Patch& patch,
                            LinearMatch& match) {
  const auto product = ReadQdqProduct(node, context.facts);
  if (!product.has_value()) return false;
  match.term = node.input(2);
  match.parts.format = ops::LinearFormat::kInt8;
  match.parts.x = Arranged(patch, product->x);
  match.parts.x_scale = product->x.scale;
  match.parts.x_zero_point = product->x.zero_point;
  match.parts.weights = {ColumnsLast(patch, product->weight)};
  return true;
}

}  // namespace attnrun::opt
