// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_LINEAR_WEIGHTS_H_
#define ATTNRUN_OPS_LINEAR_LINEAR_WEIGHTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/gemm/side_by_side.h"
#include "ops/linear/float_linear.h"

namespace attnrun::ops {

// A dense tensor of the same elements as floats. Precondition: IsFloatOrHalf(tensor.type()).
absl::StatusOr<Tensor> DenseFloats(const Tensor& tensor, Allocator& allocator);

// True if all weights are defined and float matrices with equal K.
bool FitTogether(const FloatLinear& op, absl::Span<const Linear::Weight> weights);

// The weights side by side as one matrix [K, N], valid as long as they exist. Precondition:
// FitTogether.
SideBySide StoredWeights(const FloatLinear& op, absl::Span<const Linear::Weight> weights);

// The weights of a FloatLinear as floats: views of their memory where they are float already.
class FloatWeights {
 public:
  // Precondition: FitTogether.
  static absl::StatusOr<FloatWeights> Read(const FloatLinear& op,
                                           absl::Span<const Linear::Weight> weights,
                                           Allocator& allocator);

  // Each as a matrix [K, N], valid as long as this exists.
  const std::vector<MatrixView>& parts() const { return parts_; }
  // All side by side.
  SideBySide Matrix() const {
    return SideBySide(std::vector<StoredMatrix>(parts_.begin(), parts_.end()));
  }

 private:
  FloatWeights() = default;

  std::vector<Tensor> floats_;
  std::vector<MatrixView> parts_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_LINEAR_WEIGHTS_H_
