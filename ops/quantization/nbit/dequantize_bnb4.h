// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_NBIT_DEQUANTIZE_BNB4_H_
#define ATTNRUN_OPS_QUANTIZATION_NBIT_DEQUANTIZE_BNB4_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.DequantizeBnb4-1, the weight of com.microsoft.MatMulBnb4 (codes uint8 [N * K / 2, rounded
// up], absmax [N * K / block_size, rounded up]) -> W [N, K], in the type of absmax, a float or
// half: the matrix row by row, whose code i, two to a byte, high bits first, becomes
//
//   W[i] = table[code i] * absmax[i / block_size]
//
// with the table of FP4 (quant_type 0) or NF4 (1; QLoRA, Dettmers et al., 2023).
class DequantizeBnb4 final : public Op {
 public:
  explicit DequantizeBnb4(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Checks the inputs and returns the shape of W.
  absl::StatusOr<Shape> Resolve(const OpContext& context) const;
  // The 16 values of the codes.
  const float* table() const;
  int64_t block_size() const { return block_size_; }

 private:
  const int64_t k_;
  const int64_t n_;
  const int64_t block_size_;
  const int64_t quant_type_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_NBIT_DEQUANTIZE_BNB4_H_
