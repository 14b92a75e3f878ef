// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QDQ_OPERANDS_H_
#define ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QDQ_OPERANDS_H_

#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rules/linear/linear_parts.h"

namespace attnrun::opt {

// Floats that are scale * (value - zero_point), found behind nodes that only move elements.
struct QdqOperand {
  // The integers, int8 or uint8.
  Value* value = nullptr;
  // One number each. The zero point has the type of `value`; null means 0.
  Value* scale = nullptr;
  Value* zero_point = nullptr;
  // The nodes from the floats back to the DequantizeLinear.
  std::vector<const Node*> views;
};

// Describes floats that one DequantizeLinear made of integers that are not constant; nullopt for
// other floats.
std::optional<QdqOperand> ReadQdqOperand(Value* floats, Facts& facts);

// The integers, rearranged as the floats were.
Value* Arranged(Patch& patch, const QdqOperand& operand);

struct QdqProduct {
  QdqOperand x;
  // A constant matrix of integers; constant scales and zero points, one number each or one for each
  // column.
  LinearWeightParts weight;
};

// Describes a MatMul, or a Gemm that is X·W or X·W + C, whose operands come from DequantizeLinear
// and whose sums can be computed in integers; nullopt for other products.
std::optional<QdqProduct> ReadQdqProduct(const Node& product, Facts& facts);

struct QdqConvolution {
  QdqOperand x;
  // [M, C, ..] and constant, its scale and zero point as well: one number each, or one for each of
  // the M channels.
  Value* weight = nullptr;
  Value* weight_scale = nullptr;
  Value* weight_zero_point = nullptr;
};

// Describes a Conv of one group whose operands come from DequantizeLinear and whose sums can be
// computed in integers; nullopt for other nodes.
std::optional<QdqConvolution> ReadQdqConvolution(const Node& conv, Facts& facts);

// True for a Gather of a constant table that a DequantizeLinear with one scale made floats.
bool ReadsDequantizedTable(const Node& node, Facts& facts);

// True if all readers of a DequantizeLinear's result take its integers: products and convolutions
// that the functions above accept and that have it as the weight, and Gathers of its rows.
bool IsWeightOfIntegers(const Node& dequantize, const Graph& graph, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QDQ_OPERANDS_H_
