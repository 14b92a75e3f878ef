// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ELEMENTWISE_ROWS_H_
#define ATTNRUN_OPS_ELEMENTWISE_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "ops/interface/op.h"

// How all elementwise kernels walk their operands: a kernel is a function of rows, and the driver
// cuts any combination of broadcast and strided operands, of any type, into rows for it.
namespace attnrun::ops {

inline constexpr int kMaxOperands = 3;

// Element i of a row's operand is data[i & mask]. An operand that repeats one element has mask 0,
// and `data` then holds a whole vector (64 bytes) of copies, so that the same loads serve both.
struct RowOperand {
  const void* data;
  size_t mask;
};
inline constexpr size_t kEachElement = ~size_t{0};
inline constexpr size_t kSameElement = 0;

// Numbers from the node's attributes; each function defines their meaning.
struct RowParameters {
  float alpha = 0;
  float beta = 0;
  float gamma = 0;
  // Bounds of the integer functions.
  int64_t low = 0;
  int64_t high = 0;
};

// Computes `n` elements of the output from `n` of each operand. `out` may be an operand's data.
using RowFunction = void (*)(const RowOperand* operands, void* out, size_t n,
                             const RowParameters& parameters);

// An elementwise computation on given types.
struct RowProgram {
  RowFunction function = nullptr;
  // The types that `function` reads and writes. Operands and output of another type are converted
  // piece by piece; ConvertRow must know the pair.
  std::array<DataType, kMaxOperands> inputs{};
  DataType output = DataType::kUndefined;
  RowParameters parameters{};
  // With fewer elements one thread does all the work.
  int64_t grain = 32768;

  explicit operator bool() const { return function != nullptr; }
};

// The grain of functions that cost about ten times an addition.
inline constexpr int64_t kGrainOfTranscendentals = 4096;

// The row function that converts as ONNX's Cast does; null for pairs that would round twice or are
// not covered.
RowFunction ConvertRow(DataType from, DataType to);

// Applies the program to operands that broadcast to the shape of `out`, which is dense and mutable
// and may be one of the operands. Operands may be strided.
void RunRows(const RowProgram& program, absl::Span<const Tensor* const> operands, Tensor& out);

// A kernel that is one program over all its inputs, which broadcast together.
class RowKernel : public Kernel {
 public:
  absl::string_view name() const override { return "highway"; }
  bool accepts_strided() const override { return true; }
  bool Accepts(const OpContext& context) const override;
  absl::Status Run(OpContext& context) const override;

 protected:
  // The program for the types of these inputs; without a function if there is none.
  virtual RowProgram Program(const OpContext& context) const = 0;
  virtual DataType OutputType(const OpContext& context) const { return context.input(0).type(); }
  // kInvalidArgument for values that the function must not see, such as integer divisors of 0.
  virtual absl::Status CheckValues(const OpContext& /*context*/) const { return absl::OkStatus(); }
};

// The type in which elements of `type` are computed, with the same results as in their own type:
// float for the 16-bit floats, int64 for the narrower integers; else `type` itself. The results of
// wrapping integer arithmetic are exact after narrowing.
DataType ComputeType(DataType type);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ELEMENTWISE_ROWS_H_
