// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_ARITHMETIC_H_
#define ATTNRUN_OPS_ELEMENTWISE_ARITHMETIC_H_

#include <memory>

#include "ops/elementwise/rows.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"
#include "ops/interface/type_set.h"

namespace attnrun::ops {

// c = f(a, b) for operands that broadcast together. Integers wrap.
enum class BinaryFunction {
  kAdd,
  kSub,
  kMul,
  kDiv,       // integers: truncated towards zero
  kFloorDiv,  // integers: floor(a / b)
  kFloorMod,  // a - floor(a / b) b: the sign of b
  kTruncMod,  // a - trunc(a / b) b, C's fmod: the sign of a
  kMin,       // NaN if either operand is
  kMax,
  kPRelu,       // b a for a < 0, else a
  kBitwiseAnd,  // integers only, from here on
  kBitwiseOr,
  kBitwiseXor,
  kShiftLeft,   // by b bits; 0 if b is negative or at least the width
  kShiftRight,  // likewise, but -1 for a negative a
};

// Operators of two operands of one type: Add-7, Sub-7, Mul-7, Div-7, Mod-10, PRelu-7,
// BitwiseAnd-18, BitwiseOr-18, BitwiseXor-18, BitShift-11 and their later versions, and
// attnrun.FloorDiv-1. Dividing an integer by 0 is an error. PRelu: b broadcasts to the shape of a.
class Binary final : public Op {
 public:
  Binary(BinaryFunction function, TypeSet types) : function_(function), types_(types) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  const BinaryFunction function_;
  const TypeSet types_;
};

// ONNX Pow-7, -12, -13, -15: a to the power b, in the type of a; from version 12 on b may have
// another type. Integers to integer powers wrap; 0 to a negative power is then an error.
class Pow final : public Op {
 public:
  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;
};

// ONNX Min-6, Max-6, Sum-6, Mean-6 and their later versions: f folded over any number of operands
// that broadcast together; Mean divides the sum by their number.
class Variadic final : public Op {
 public:
  Variadic(BinaryFunction function, bool mean, TypeSet types)
      : function_(function), mean_(mean), types_(types) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  const BinaryFunction function_;
  const bool mean_;
  const TypeSet types_;
};

// f of one pair of numbers as ONNX's text defines it, for the reference operators. `type` is the
// type of the integers; uint64 is passed as its two's complement. b must not be 0 in a division.
double ApplyBinary(BinaryFunction function, double a, double b);
int64_t ApplyBinary(BinaryFunction function, int64_t a, int64_t b, DataType type);

// kInvalidArgument if `function` divides and input 1 is a tensor of integers that holds a 0.
absl::Status CheckDivisor(BinaryFunction function, const OpContext& context);

// kInvalidArgument unless input 1 of PRelu broadcasts to the shape of input 0.
absl::Status CheckSlope(const OpContext& context);

// The program of `function` on operands of `type`; without a function where there is none.
RowProgram BinaryProgram(BinaryFunction function, DataType type);

void RegisterArithmetic(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_ARITHMETIC_H_
