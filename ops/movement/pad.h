// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_PAD_H_
#define ATTNRUN_OPS_MOVEMENT_PAD_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// What stands where an output of Pad lies outside the data: a constant, the data mirrored at its
// first and last element, those elements themselves, or the data again as on a torus.
enum class PadMode { kConstant, kReflect, kEdge, kWrap };

// The pads of one call, checked: one number per axis of the data.
struct Padding {
  Shape before;
  // Of the result.
  Shape shape;
};

// ONNX Pad-2 to -25: elements added before and after each axis; negative pads take some away.
// `pads` and `value` are attributes in version 2 and inputs from 11 on (input 1, [before..., after
// ...]; input 2, 0 or "" if left out); input 3 (18) names the axes that the pads are for. Mode
// "wrap" came with version 19. Mirrored data are mirrored again where pads are longer than it.
class Pad final : public Op {
 public:
  explicit Pad(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

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
