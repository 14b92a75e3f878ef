// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_CENTER_CROP_PAD_H_
#define ATTNRUN_OPS_MOVEMENT_CENTER_CROP_PAD_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX CenterCropPad-18 (x, shape): x with other extents along `axes` (left out: all), its middle
// kept. The first half of what is cut off, or added as zeros, is rounded down.
class CenterCropPad final : public Op {
 public:
  explicit CenterCropPad(AttributeReader& attributes)
      : axes_(attributes.Get<std::vector<int64_t>>("axes")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  absl::StatusOr<Shape> OutputShape(const OpContext& context) const;

  const std::optional<std::vector<int64_t>> axes_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_CENTER_CROP_PAD_H_
