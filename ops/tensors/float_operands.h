// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_FLOAT_OPERANDS_H_
#define ATTNRUN_OPS_TENSORS_FLOAT_OPERANDS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "ops/interface/op_context.h"

// Products are computed in float32. These functions convert half-precision operands on the way in
// and out.
namespace attnrun::ops {

// `tensor` itself if it is float, else its numbers as floats; halves are converted in parallel.
// Precondition: dense.
absl::StatusOr<Tensor> ToFloat(const Tensor& tensor, Allocator& allocator);

// Float memory for output `index` of `type` and `shape`. Store() converts it into the output.
class FloatOutput {
 public:
  static absl::StatusOr<FloatOutput> Allocate(OpContext& context, int index, DataType type,
                                              absl::Span<const int64_t> shape);

  float* data() { return floats_.mutable_data<float>(); }
  int64_t num_elements() const { return floats_.num_elements(); }
  void Store();

 private:
  FloatOutput() = default;

  Tensor* output_ = nullptr;
  Tensor floats_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_FLOAT_OPERANDS_H_
