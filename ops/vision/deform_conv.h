// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_VISION_DEFORM_CONV_H_
#define ATTNRUN_OPS_VISION_DEFORM_CONV_H_

#include <optional>

#include "absl/status/statusor.h"
#include "ops/conv/sliding_window.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX DeformConv-19, -22 (x [N, C, ..], w [M, C/group, ..], offset [N, G K r, ..], bias [M]?, mask
// [N, G K, ..]?), of r axes and a kernel of K elements: a convolution each of whose taps reads x
// `offset` away from its place, interpolated linearly, with zeros outside, and times `mask`. The
// channels of x share the offsets in G groups (`offset_group`).
class DeformConv final : public Op {
 public:
  explicit DeformConv(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  absl::StatusOr<SlidingWindow> CheckInputs(const OpContext& context) const;

  WindowAttributes window_;
  int64_t group_;
  int64_t offset_group_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_VISION_DEFORM_CONV_H_
