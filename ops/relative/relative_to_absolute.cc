// SPDX-License-Identifier: Apache-2.0
#include "ops/relative/relative_to_absolute.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

class RelativeToAbsoluteKernel final : public Kernel {
 public:
  absl::string_view name() const override { return "view"; }
  bool Accepts(const OpContext& context) const override {
    return MovesAsBytes(context.input(0).type());
  }
  // Only the shape of the queries is read.
  bool accepts_strided() const override { return true; }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor y, RelativeToAbsolute::ViewOf(context));
    context.SetOutput(0, std::move(y));
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<Tensor> RelativeToAbsolute::ViewOf(const OpContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& queries = context.input(1);
  const int rank = x.rank();
  if (rank < 2 || queries.rank() < 2 || x.dim(rank - 2) != 1 ||
      x.dim(rank - 1) < queries.dim(queries.rank() - 2)) {
    return absl::InvalidArgumentError(absl::StrCat("expected x [...,1,S+T] and queries [...,S,1], ",
                                                   "but found ", TypeAndShape(x), " and ",
                                                   TypeAndShape(queries)));
  }
  const int64_t count = queries.dim(queries.rank() - 2);
  Shape shape = x.shape();
  Shape strides = StridesOf(x);
  const int64_t step = strides[rank - 1];
  shape[rank - 2] = count;
  shape[rank - 1] -= count;
  strides[rank - 2] = -step;
  ATTNRUN_RETURN_IF_ERROR(NumElements(shape).status());
  return x.View(shape, strides, count * step);
}

absl::Status RelativeToAbsolute::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor view, ViewOf(context));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, view.Dense(context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

void RelativeToAbsolute::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  const std::optional<Dims>& queries = context.input(1).dims;
  if (dims.has_value() && dims->size() >= 2 && queries.has_value() && queries->size() >= 2) {
    const size_t rank = dims->size();
    (*dims)[rank - 2] = (*queries)[queries->size() - 2];
    (*dims)[rank - 1] = (*dims)[rank - 1] - (*dims)[rank - 2];
  } else {
    dims.reset();
  }
  SetDims(context, 0, std::move(dims));
}

absl::StatusOr<std::unique_ptr<Kernel>> RelativeToAbsolute::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<RelativeToAbsoluteKernel>();
}

}  // namespace attnrun::ops
