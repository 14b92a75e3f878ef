// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/depth_space.h"

#include "absl/strings/str_cat.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

bool ReadDepthLast(AttributeReader& attributes) {
  return attributes.OneOf("mode", "DCR", {"DCR", "CRD"}) == "DCR";
}

absl::Status NoBlocks(const Tensor& x, int64_t block) {
  return absl::InvalidArgumentError(
      absl::StrCat(TypeAndShape(x), " cannot be rearranged in blocks of ", block, " x ", block));
}

}  // namespace

DepthToSpace::DepthToSpace(AttributeReader& attributes)
    : block_(attributes.Required<int64_t>("blocksize")) {
  if (attributes.version() >= 11) depth_last_ = ReadDepthLast(attributes);
}

absl::StatusOr<StridedView> DepthToSpace::MakeView(const OpContext& context) const {
  const Tensor& x = context.input(0);
  const int64_t b = block_;
  if (x.rank() != 4 || b < 1) return NoBlocks(x, b);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t area, NumElements({b, b}));
  if (x.dim(1) % area != 0) return NoBlocks(x, b);
  const int64_t depth = x.dim(1) / area;
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t height, NumElements({x.dim(2), b}));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t width, NumElements({x.dim(3), b}));
  StridedView view;
  view.shape = {x.dim(0), depth, height, width};
  view.extents = {x.dim(0), depth, x.dim(2), b, x.dim(3), b};
  view.strides.assign(6, 0);
  // Without elements the strides do not matter, and could overflow.
  if (x.num_elements() == 0) return view;
  const Shape s = StridesOf(x);
  const int64_t column = depth_last_ ? s[1] * depth : s[1];
  view.strides = {s[0], depth_last_ ? s[1] : s[1] * area, s[2], column * b, s[3], column};
  return view;
}

SpaceToDepth::SpaceToDepth(AttributeReader& attributes)
    : block_(attributes.Required<int64_t>("blocksize")) {
  if (attributes.version() >= 28) depth_last_ = ReadDepthLast(attributes);
}

absl::StatusOr<StridedView> SpaceToDepth::MakeView(const OpContext& context) const {
  const Tensor& x = context.input(0);
  const int64_t b = block_;
  if (x.rank() != 4 || b < 1 || x.dim(2) % b != 0 || x.dim(3) % b != 0) return NoBlocks(x, b);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t channels, NumElements({x.dim(1), b, b}));
  const int64_t rows = x.dim(2) / b;
  const int64_t columns = x.dim(3) / b;
  StridedView view;
  view.shape = {x.dim(0), channels, rows, columns};
  view.extents = {x.dim(0), x.dim(1), b, b, rows, columns};
  view.strides.assign(6, 0);
  if (x.num_elements() == 0) return view;
  const Shape s = StridesOf(x);
  view.strides = {s[0], s[1], s[2], s[3], s[2] * b, s[3] * b};
  if (depth_last_) {
    view.extents = {x.dim(0), b, b, x.dim(1), rows, columns};
    view.strides = {s[0], s[2], s[3], s[1], s[2] * b, s[3] * b};
  }
  return view;
}

}  // namespace attnrun::ops
