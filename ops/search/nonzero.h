// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEARCH_NONZERO_H_
#define ATTNRUN_OPS_SEARCH_NONZERO_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX NonZero-9, -13: int64 [rank, n]. Column i is the index of the i-th element, in row-major
// order, that is not 0, false or "". A NaN is not 0. A scalar gives [0, n].
class NonZero final : public Op {
 public:
  explicit NonZero(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEARCH_NONZERO_H_
