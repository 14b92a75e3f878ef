// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_NBIT_LINEAR_H_
#define ATTNRUN_OPS_LINEAR_NBIT_LINEAR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/linear/linear.h"
#include "ops/quantization/nbit/nbit_weight.h"

namespace attnrun::ops {

// A Linear of n-bit weights, made of com.microsoft.MatMulNBits: each Wi is an NBitWeight [K, Ni],
// its values are the codes. Attributes: K, bits (4 if left out) and block_size of all weights. X,
// bias and residual are float, float16 or bfloat16, perhaps of different types; Y has the type of
// X.
class NBitLinear final : public Linear {
 public:
  explicit NBitLinear(AttributeReader& attributes);

  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 protected:
  size_t ColumnAxis(int /*index*/) const override { return 0; }
  absl::Status CheckTypes(const OpContext& context) const override;
  absl::Status CheckWeight(const Tensor& x, int index, const Weight& weight) const override;
  absl::StatusOr<std::vector<double>> ReadElements(const Weight& weight) const override;

 private:
  NBitWeight AsNBit(const Weight& weight) const;

  int64_t k_;
  int64_t bits_;
  int64_t block_size_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_NBIT_LINEAR_H_
