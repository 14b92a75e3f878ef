// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/split.h"

#include "absl/strings/str_cat.h"
#include "ops/tensors/int_input.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

class SplitKernel final : public Kernel {
 public:
  explicit SplitKernel(Split op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }
  bool accepts_strided() const override { return true; }
  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const auto views, op_.MakeViews(context));
    for (int i = 0; i < context.num_outputs(); ++i) {
      if (!context.wants_output(i)) continue;
      ATTNRUN_RETURN_IF_ERROR(MoveView(context, i, context.input(0), views[i]));
    }
    return absl::OkStatus();
  }

 private:
  const Split op_;
};

// `sizes`; kInvalidArgument unless there is one per output and they add up to the axis.
absl::StatusOr<Shape> CheckExtents(const Tensor& data, int axis, int num_outputs, Shape sizes) {
  int64_t left = data.dim(axis);
  bool fits = static_cast<int>(sizes.size()) == num_outputs;
  for (const int64_t size : sizes) {
    fits = fits && size >= 0 && size <= left;
    if (fits) left -= size;
  }
  if (fits && left == 0) return sizes;
  return absl::InvalidArgumentError(absl::StrCat("split ", ToString(sizes), " does not cut axis ",
                                                 axis, " of ", TypeAndShape(data), " into ",
                                                 num_outputs, " pieces"));
}

}  // namespace

Split::Split(AttributeReader& attributes)
    : axis_(attributes.Int("axis", 0)),
      from_input_(attributes.version() >= 13),
      uneven_(attributes.version() >= 18) {
  attributes.ExpectInputs(1, from_input_ ? 2 : 1);
  if (uneven_) num_outputs_ = attributes.Get<int64_t>("num_outputs");
  if (from_input_) return;
  if (const auto split = attributes.Get<std::vector<int64_t>>("split"); split.has_value()) {
    attribute_.emplace(split->begin(), split->end());
  }
}

absl::StatusOr<Shape> Split::EqualExtents(const Tensor& data, int axis, int64_t pieces) const {
  const int64_t extent = data.dim(axis);
  const int64_t piece = extent / pieces + (extent % pieces != 0 ? 1 : 0);
  // No overflow: at most `extent` and one piece more per output.
  const int64_t last = extent - piece * (pieces - 1);
  if (last < 0 || (last != piece && !uneven_)) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of ", TypeAndShape(data),
                                                   " cannot be cut into ", pieces,
                                                   " equal pieces"));
  }
  Shape extents(pieces, piece);
  extents.back() = last;
  return extents;
}

absl::StatusOr<Shape> Split::Extents(const OpContext& context, int axis) const {
  const Tensor& data = context.input(0);
  if (num_outputs_.has_value() &&
      (context.has_input(1) || *num_outputs_ != context.num_outputs())) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_outputs is ", *num_outputs_, ", but there are ", context.num_outputs(),
                     " outputs and ", context.has_input(1) ? "" : "no ", "input 'split'"));
  }
  if (attribute_.has_value()) {
    return CheckExtents(data, axis, context.num_outputs(), *attribute_);
  }
  if (from_input_ && context.has_input(1)) {
    ATTNRUN_ASSIGN_OR_RETURN(Shape sizes, ReadInts(context.input(1), "split"));
    return CheckExtents(data, axis, context.num_outputs(), std::move(sizes));
  }
  return EqualExtents(data, axis, context.num_outputs());
}

absl::StatusOr<absl::InlinedVector<StridedView, 3>> Split::MakeViews(
    const OpContext& context) const {
  const Tensor& data = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, data.rank()));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape extents, Extents(context, axis));
  const Shape strides = StridesOf(data);
  absl::InlinedVector<StridedView, 3> views;
  int64_t start = 0;
  for (const int64_t extent : extents) {
    StridedView view = {data.shape(), data.shape(), strides, start * strides[axis]};
    view.shape[axis] = extent;
    view.extents[axis] = extent;
    views.push_back(std::move(view));
    start += extent;
  }
  return views;
}

absl::Status Split::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const auto views, MakeViews(context));
  for (int i = 0; i < context.num_outputs(); ++i) {
    if (!context.wants_output(i)) continue;
    ATTNRUN_RETURN_IF_ERROR(MoveViewReference(context, i, context.input(0), views[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Split::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<SplitKernel>(*this);
}

}  // namespace attnrun::ops
