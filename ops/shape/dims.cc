// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/dims.h"

#include <algorithm>
#include <limits>

#include "core/status.h"
#include "ops/shape/view_kernel.h"

namespace attnrun::ops {
namespace {

// An axis bound, counted from the end if negative, clamped to [0, rank].
int64_t ClampBound(int64_t bound, int64_t rank) {
  return std::clamp<int64_t>(bound < 0 ? bound + rank : bound, 0, rank);
}

}  // namespace

ShapeOp::ShapeOp(AttributeReader& attributes) : end_(std::numeric_limits<int64_t>::max()) {
  if (attributes.version() < 15) return;
  start_ = attributes.Int("start", start_);
  end_ = attributes.Int("end", end_);
}

absl::Status ShapeOp::Reference(OpContext& context) const {
  const Shape& shape = context.input(0).shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t start = ClampBound(start_, rank);
  const int64_t count = std::max<int64_t>(ClampBound(end_, rank) - start, 0);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kInt64, {count}));
  std::copy_n(shape.begin() + start, count, y->mutable_data<int64_t>());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ShapeOp::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ViewKernel<ShapeOp>>(*this, /*strided=*/true);
}

absl::Status SizeOp::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kInt64, {}));
  *y->mutable_data<int64_t>() = context.input(0).num_elements();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> SizeOp::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<ViewKernel<SizeOp>>(*this, /*strided=*/true);
}

}  // namespace attnrun::ops
