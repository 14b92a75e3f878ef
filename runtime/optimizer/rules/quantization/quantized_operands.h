// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QUANTIZED_OPERANDS_H_
#define ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QUANTIZED_OPERANDS_H_

#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// Floats that are scale * (value - zero_point), found behind nodes that only move elements.
struct QuantizedOperand {
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
std::optional<QuantizedOperand> ReadQuantizedOperand(Value* floats, Facts& facts);

// The integers, rearranged as the floats were.
Value* Arranged(Patch& patch, const QuantizedOperand& operand);

// A constant matrix of integers by which a product multiplies: [K, N], or [N, K] if `transposed`.
struct QuantizedWeight {
  Value* value = nullptr;
  // Constant; one number, or one for each column.
  Value* scale = nullptr;
  Value* zero_point = nullptr;
  bool transposed = false;

  int64_t columns() const { return value->constant()->dim(transposed ? 0 : 1); }
};

struct QuantizedProduct {
  QuantizedOperand x;
  QuantizedWeight weight;
};

// Describes a MatMul, or a Gemm that is X·W or X·W + C, whose operands come from DequantizeLinear
// and whose sums can be computed in integers; nullopt for other products.
std::optional<QuantizedProduct> ReadQuantizedProduct(const Node& product, Facts& facts);

// True if all readers of a DequantizeLinear's result are products that ReadQuantizedProduct accepts
// and that have it as the weight.
bool IsWeightOfIntegers(const Node& dequantize, const Graph& graph, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QUANTIZED_OPERANDS_H_
