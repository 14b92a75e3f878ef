// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_EXPAND_H_
#define ATTNRUN_OPS_MOVEMENT_EXPAND_H_

#include "ops/interface/attribute_reader.h"
#include "ops/movement/strided_view.h"

namespace attnrun::ops {

// ONNX Expand-8, -13 (data, shape): the data broadcast, in both directions, with the given shape.
class Expand final : public StridedViewOp<Expand> {
 public:
  explicit Expand(AttributeReader& /*attributes*/) {}

  absl::StatusOr<StridedView> MakeView(const OpContext& context) const;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
};

// ONNX Tile-6, -13 (data, repeats): repeats[i] copies of the data, one after the other, along axis
// i.
class Tile final : public StridedViewOp<Tile> {
 public:
  explicit Tile(AttributeReader& /*attributes*/) {}

  absl::StatusOr<StridedView> MakeView(const OpContext& context) const;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_EXPAND_H_
