// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_INT8_LINEAR_H_
#define ATTNRUN_OPS_LINEAR_INT8_LINEAR_H_

#include <memory>
#include <vector>

#include "ops/linear/linear.h"

namespace attnrun::ops {

// A Linear of bytes, made of MatMulInteger and the nodes that scale its integers: X·Wi is
//   S * (x_scale * wi_scale),  S = (X - x_zero_point)·(Wi - wi_zero_point)
// in integers that wrap at 32 bits. X and the weights are int8 or uint8, all weights of one type.
// x_scale is one number and x_zero_point? one of X's type; wi_scale is one number or [Ni], and
// wi_zero_point? one or [Ni] of the weights' type. The other inputs, and Y, are float.
class Int8Linear final : public Linear {
 public:
  explicit Int8Linear(AttributeReader& attributes) : Linear(LinearFormat::kInt8, attributes) {}

  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  static constexpr int kXScale = LinearInputs::kXScale;
  static constexpr int kXZeroPoint = LinearInputs::kXZeroPoint;

 protected:
  size_t ColumnAxis(int /*index*/) const override { return 1; }
  absl::Status CheckTypes(const OpContext& context) const override;
  absl::Status CheckWeight(const Tensor& x, int index, const Weight& weight) const override;
  absl::StatusOr<std::vector<double>> ReadX(const OpContext& context) const override;
  absl::StatusOr<std::vector<double>> ReadElements(const Weight& weight) const override;
  absl::Status ScaleSums(const OpContext& context, std::vector<double>& sums) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_INT8_LINEAR_H_
