// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_REVERSE_SEQUENCE_H_
#define ATTNRUN_OPS_MOVEMENT_REVERSE_SEQUENCE_H_

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX ReverseSequence-10, -28 (x, sequence_lens): for each b along `batch_axis` (1) the first
// sequence_lens[b] slices along `time_axis` (0) in reverse order, the other slices unchanged. The
// two axes are 0 and 1 or 1 and 0.
class ReverseSequence final : public Op {
 public:
  explicit ReverseSequence(AttributeReader& attributes)
      : batch_axis_(attributes.Int("batch_axis", 1)), time_axis_(attributes.Int("time_axis", 0)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  int64_t batch_axis_;
  int64_t time_axis_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_REVERSE_SEQUENCE_H_
