// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_PAD_H_
#define ATTNRUN_OPS_MOVEMENT_PAD_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The elements that an output of Pad has outside the data: a constant, the data mirrored at its
// first and last elements, those elements themselves, or the data repeated as on a torus.
enum class PadMode { kConstant, kReflect, kEdge, kWrap };

// The checked pads of one call: one number per axis of the data.
struct Padding {
  Shape before;
  // The shape of the result.
  Shape shape;
};

// ONNX Pad-2 to -25: adds elements before and after each axis; negative pads remove some. `pads`
// and `value` are attributes in version 2 and inputs from version 11 on (input 1, [before...,
// after...]; input 2, left out: 0 or ""); input 3 (from version 18 on) names the axes of the pads.
// Mode "wrap" exists from version 19 on. Mirrored data is mirrored again where pads are longer than
// the data.
class Pad final : public Op {
 public:
  explicit Pad(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  absl::StatusOr<Padding> Resolve(const OpContext& context) const;
  // A tensor whose first element is the constant.
  absl::StatusOr<Tensor> Value(const OpContext& context) const;
  PadMode mode() const { return mode_; }

 private:
  absl::StatusOr<Shape> PaddedAxes(const OpContext& context) const;

  PadMode mode_;
  bool from_inputs_;
  Shape pads_;
  float value_ = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_PAD_H_
