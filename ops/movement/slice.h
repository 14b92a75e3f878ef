// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_SLICE_H_
#define ATTNRUN_OPS_MOVEMENT_SLICE_H_

#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/movement/strided_view.h"

namespace attnrun::ops {

// ONNX Slice-1, -10, -11, -13: every steps[i]-th element along axes[i], from starts[i] up to, but
// excluding, ends[i]. Negative starts and ends count from the end, and both are clamped to the
// axis; negative steps walk backwards. All are attributes (without steps) before version 10, inputs
// from version 10 on.
class Slice final : public StridedViewOp<Slice> {
 public:
  explicit Slice(AttributeReader& attributes);

  absl::StatusOr<StridedView> MakeView(const OpContext& context) const;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  struct Ranges {
    Shape starts;
    Shape ends;
    Shape axes;
    Shape steps;
  };
  absl::StatusOr<Ranges> Read(const OpContext& context) const;
  // The sliced axes; nullopt if they differ between runs.
  std::optional<std::vector<int64_t>> NamedAxes(const KnownInputs& inputs) const;

  bool from_inputs_;
  // Empty if they are inputs.
  Ranges attributes_;
};

// The `count` elements start, start + step, ... of an axis.
struct AxisRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// The elements that a slice takes of an axis of `extent`. Any start, end and step are valid, except
// a step of 0.
AxisRange SliceRange(int64_t extent, int64_t start, int64_t end, int64_t step);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_SLICE_H_
