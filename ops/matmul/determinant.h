// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MATMUL_DETERMINANT_H_
#define ATTNRUN_OPS_MATMUL_DETERMINANT_H_

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX Det-11, -22 (x [.., M, M]) -> [..]: the determinant of each matrix; 1 for one without rows.
class Determinant final : public Op {
 public:
  explicit Determinant(AttributeReader& /*attributes*/) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MATMUL_DETERMINANT_H_
