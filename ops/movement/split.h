// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOVEMENT_SPLIT_H_
#define ATTNRUN_OPS_MOVEMENT_SPLIT_H_

#include <memory>
#include <optional>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/movement/strided_view.h"

namespace attnrun::ops {

// ONNX Split-2, -11, -13, -18: consecutive pieces of the data along `axis`. Their extents are
// attribute `split` before version 13, input 1 from version 13 on. Without them the axis is cut
// into as many equal pieces as there are outputs (or `num_outputs`, version 18); from version 18 on
// the last piece may be smaller.
class Split final : public Op {
 public:
  explicit Split(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // One view of input 0 per output.
  absl::StatusOr<absl::InlinedVector<StridedView, 3>> MakeViews(const OpContext& context) const;

 private:
  absl::StatusOr<Shape> Extents(const OpContext& context, int axis) const;
  // The extents of the pieces of an axis of `extent`; fewer than outputs if no run can succeed.
  std::vector<SymInt> InferExtents(const InferContext& context, const SymInt& extent) const;
  absl::StatusOr<Shape> EqualExtents(const Tensor& data, int axis, int64_t pieces) const;

  int64_t axis_;
  bool from_input_;
  bool uneven_;
  std::optional<int64_t> num_outputs_;
  std::optional<Shape> attribute_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOVEMENT_SPLIT_H_
