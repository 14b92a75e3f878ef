// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_DEPTH_SPACE_H_
#define ATTNRUN_OPS_MOVEMENT_DEPTH_SPACE_H_

#include "ops/interface/attribute_reader.h"
#include "ops/movement/window.h"

namespace attnrun::ops {

// ONNX DepthToSpace-1 to -28: [N, C, H, W] to [N, C / b², H b, W b], b being `blocksize`: channels
// become blocks of pixels. `mode` (11): channels hold, outermost first, row and column in the block
// and then the depth ("DCR"), or the depth first ("CRD").
class DepthToSpace final : public WindowOp<DepthToSpace> {
 public:
  explicit DepthToSpace(AttributeReader& attributes);

  absl::StatusOr<Window> MakeWindow(const OpContext& context) const;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  int64_t block_;
  bool depth_last_ = true;
};

// ONNX SpaceToDepth-1 to -28: the inverse, [N, C, H, W] to [N, C b², H / b, W / b]. `mode` (28) as
// above.
class SpaceToDepth final : public WindowOp<SpaceToDepth> {
 public:
  explicit SpaceToDepth(AttributeReader& attributes);

  absl::StatusOr<Window> MakeWindow(const OpContext& context) const;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  int64_t block_;
  bool depth_last_ = true;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_DEPTH_SPACE_H_
