// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_DEPTH_SPACE_H_
#define ATTNRUN_OPS_MOVEMENT_DEPTH_SPACE_H_

#include "ops/interface/attribute_reader.h"
#include "ops/movement/strided_view.h"

namespace attnrun::ops {

// ONNX DepthToSpace-1, -11, -13, -28: [N, C, H, W] to [N, C / b², H b, W b] with b = `blocksize`:
// channels become blocks of pixels. `mode` (from version 11 on) states what the channels hold,
// outermost first: row and column in the block, then the depth ("DCR"), or the depth first ("CRD").
class DepthToSpace final : public StridedViewOp<DepthToSpace> {
 public:
  explicit DepthToSpace(AttributeReader& attributes);

  absl::StatusOr<StridedView> MakeView(const OpContext& context) const;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  int64_t block_;
  bool depth_last_ = true;
};

// ONNX SpaceToDepth-1, -13, -28: the inverse, [N, C, H, W] to [N, C b², H / b, W / b]. `mode` (from
// version 28 on) as above.
class SpaceToDepth final : public StridedViewOp<SpaceToDepth> {
 public:
  explicit SpaceToDepth(AttributeReader& attributes);

  absl::StatusOr<StridedView> MakeView(const OpContext& context) const;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  int64_t block_;
  bool depth_last_ = true;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_DEPTH_SPACE_H_
