// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GENERATE_RANGE_H_
#define ATTNRUN_OPS_GENERATE_RANGE_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Range-11, -27 (start, limit, delta): start + i * delta for i in [0, max(ceil((limit - start)
// / delta), 0)). The inputs are scalars of one type: float, double, int16, int32, int64 and, from
// version 27 on, float16 and bfloat16, for which `stash_type` must be 1 (float). Floats are
// computed in double.
class Range final : public Op {
 public:
  explicit Range(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  absl::Status CheckTypes(const OpContext& context) const;

  bool half_types_;
  int64_t stash_type_ = 1;
};

// The number of integers from `start` up to (down to if `delta` < 0), but excluding, `limit`.
// kInvalidArgument if `delta` is 0 or int64 cannot hold the number.
absl::StatusOr<int64_t> RangeLength(int64_t start, int64_t limit, int64_t delta);
// Likewise for floats; also kInvalidArgument if a NaN leaves the number undefined.
absl::StatusOr<int64_t> RangeLength(double start, double limit, double delta);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GENERATE_RANGE_H_
