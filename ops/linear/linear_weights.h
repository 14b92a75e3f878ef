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

// The weights of a node with this many inputs.
std::vector<Tensor> WeightsAmong(size_t inputs, absl::FunctionRef<Tensor(int)> input);

// True if all weights are defined and float matrices with equal K.
bool FitTogether(const Linear& op, absl::Span<const Tensor> weights);

// The weights of a Linear as floats: views of their memory where they are float already.
class FloatWeights {
 public:
  // Precondition: FitTogether.
  static absl::StatusOr<FloatWeights> Read(const Linear& op, absl::Span<const Tensor> weights,
                                           Allocator& allocator);

  // The weights side by side as one matrix [K, N], valid as long as this exists.
  SideBySide Matrix() const { return SideBySide(parts_); }

 private:
  FloatWeights() = default;

  std::vector<Tensor> floats_;
  std::vector<MatrixView> parts_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_LINEAR_WEIGHTS_H_
