// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_LINEAR_WEIGHTS_H_
#define ATTNRUN_OPS_LINEAR_LINEAR_WEIGHTS_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/gemm/side_by_side.h"
#include "ops/linear/linear.h"

namespace attnrun::ops {

// A dense tensor of the same elements as floats. Precondition: IsFloatOrHalf(tensor.type()).
absl::StatusOr<Tensor> DenseFloats(const Tensor& tensor, Allocator& allocator);

// The weights among the inputs of a node that has so many.
std::vector<Tensor> WeightsAmong(size_t inputs, absl::FunctionRef<Tensor(int)> input);

// Whether all weights are there, floats, and matrices that fit together.
bool FitTogether(const Linear& op, absl::Span<const Tensor> weights);

// The weights of a Linear as floats in memory: the same memory where they are that already.
class FloatWeights {
 public:
  // Precondition: FitTogether.
  static absl::StatusOr<FloatWeights> Read(const Linear& op, absl::Span<const Tensor> weights,
                                           Allocator& allocator);

  // The one matrix [K, N] that they are, as long as this exists.
  SideBySide Matrix() const { return SideBySide(parts_); }

 private:
  FloatWeights() = default;

  std::vector<Tensor> floats_;
  std::vector<MatrixView> parts_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_LINEAR_WEIGHTS_H_
