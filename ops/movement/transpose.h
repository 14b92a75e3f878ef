// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_TRANSPOSE_H_
#define ATTNRUN_OPS_MOVEMENT_TRANSPOSE_H_

#include <optional>

#include "ops/interface/attribute_reader.h"
#include "ops/movement/strided_view.h"

namespace attnrun::ops {

// ONNX Transpose-1 to -25: axis i of the result is axis perm[i] of the data; without `perm` the
// axes are reversed.
class Transpose final : public StridedViewOp<Transpose> {
 public:
  explicit Transpose(AttributeReader& attributes);

  absl::StatusOr<StridedView> MakeView(const OpContext& context) const;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  std::optional<Shape> perm_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_TRANSPOSE_H_
