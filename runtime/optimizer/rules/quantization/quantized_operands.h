// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QUANTIZED_OPERANDS_H_
#define ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QUANTIZED_OPERANDS_H_

#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// scale * (value - zero_point), seen through nodes that only move elements about.
struct QuantizedOperand {
  // int8 or uint8.
  Value* value = nullptr;
  // One number each; the zero point of the type of `value`, null for 0.
  Value* scale = nullptr;
  Value* zero_point = nullptr;
  // From the floats back to the DequantizeLinear.
  std::vector<const Node*> views;
};

// Reads floats that one DequantizeLinear made of integers that are not constant; nullopt if they
// are others.
std::optional<QuantizedOperand> ReadQuantizedOperand(Value* floats, Facts& facts);

// The integers where their floats were, behind the nodes that arranged them.
Value* Arranged(Patch& patch, const QuantizedOperand& operand);

// A constant matrix as a product multiplies by it, columns last, or transposed.
struct QuantizedWeight {
  Value* value = nullptr;
  // One number, or one per column, and constant.
  Value* scale = nullptr;
  Value* zero_point = nullptr;
  bool transposed = false;

  int64_t columns() const { return value->constant()->dim(transposed ? 0 : 1); }
};

struct QuantizedProduct {
  QuantizedOperand x;
  QuantizedWeight weight;
};

// Reads a MatMul, or a Gemm that is X·W or X·W + C, of floats that DequantizeLinear makes of
// integers, which may be computed in them; nullopt if it is none.
std::optional<QuantizedProduct> ReadQuantizedProduct(const Node& product, Facts& facts);

// True if all that is read of a DequantizeLinear's result are products by it as a weight, as
// ReadQuantizedProduct gives them.
bool IsWeightOfIntegers(const Node& dequantize, const Graph& graph, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QUANTIZED_OPERANDS_H_
