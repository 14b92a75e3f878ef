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
  // Constant integers: a matrix, or the [M, C, ..] of a convolution. Constant scales and zero
  // points, one number each or one for each column, or channel of the M.
  LinearWeightParts weight;
};

// Describes a MatMul, a Gemm that is X·W or X·W + C, or a Conv of one group, whose operands come
// from DequantizeLinear and whose sums can be computed in integers; nullopt for other nodes.
std::optional<QdqProduct> ReadQdqProduct(const Node& product, Facts& facts);

// True for a Gather of a constant table that a DequantizeLinear made floats by one scale, or by one
// for each index of the axis that the Gather looks up.
bool ReadsDequantizedTable(const Node& node, Facts& facts);

// True if all readers of a DequantizeLinear's result take its integers: products that the function
// above accepts and that have it as the weight, and Gathers of its rows.
bool IsWeightOfIntegers(const Node& dequantize, const Graph& graph, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QDQ_OPERANDS_H_
