// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEQUENCE_CONCAT_FROM_SEQUENCE_H_
#define ATTNRUN_OPS_SEQUENCE_CONCAT_FROM_SEQUENCE_H_

#include <memory>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/movement/concat.h"

namespace attnrun::ops {

// ONNX ConcatFromSequence-11 (sequence): its tensors, one after the other along `axis`, as Concat
// joins them. With `new_axis` 1 the axis is a new one, as in numpy.stack.
class ConcatFromSequence final : public Op {
 public:
  explicit ConcatFromSequence(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // The inputs of the Concat. kInvalidArgument if there are none.
  absl::StatusOr<std::vector<Tensor>> Operands(const Tensor& sequence) const;

 private:
  Concat concat_;
  bool new_axis_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEQUENCE_CONCAT_FROM_SEQUENCE_H_
