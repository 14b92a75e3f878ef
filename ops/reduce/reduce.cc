// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/families.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

// The first version that takes the axes as an input.
int AxesInputVersion(Reduction reduction) { return reduction == Reduction::kSum ? 13 : 18; }

absl::Status CheckType(Reduction reduction, DataType type) {
  const bool compares = reduction == Reduction::kMax || reduction == Reduction::kMin;
  if (IsFloatingPoint(type) || IsInteger(type) || (type == DataType::kBool && compares)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("cannot reduce elements of ", Name(type)));
}

}  // namespace

Reduce::Reduce(AttributeReader& attributes, Reduction reduction)
    : reduction_(reduction), keep_axes_(attributes.Int("keepdims", 1) != 0) {
  if (attributes.version() < AxesInputVersion(reduction)) {
    axes_ = attributes.Ints("axes");
  } else {
    empty_is_none_ = attributes.Int("noop_with_empty_axes", 0) != 0;
  }
}

absl::StatusOr<Shape> Reduce::ReducedAxes(const OpContext& context) const {
  Shape axes(axes_.begin(), axes_.end());
  if (context.has_input(1)) {
    const Tensor& input = context.input(1);
    if (input.type() != DataType::kInt64 || input.rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected axes to be int64[n], but they are ", TypeAndShape(input)));
    }
    ATTNRUN_ASSIGN_OR_RETURN(axes, ReadInts(input, "axes"));
  }
  if (axes.empty() && !empty_is_none_) {
    axes = FirstAxes(context.input(0).rank());
  }
  return axes;
}

absl::StatusOr<ReduceShape> Reduce::Resolve(const OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_RETURN_IF_ERROR(CheckType(reduction_, x.type()));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape axes, ReducedAxes(context));
  absl::InlinedVector<bool, 8> reduced(std::max(x.rank(), 1), false);
  for (const int64_t axis : axes) {
    // A scalar may be reduced as if it had one axis.
    ATTNRUN_ASSIGN_OR_RETURN(const int normalized, NormalizeAxis(axis, std::max(x.rank(), 1)));
    reduced[normalized] = true;
  }
  ReduceShape shape{x.shape(), {}};
  for (int i = 0; i < x.rank(); ++i) {
    if (reduced[i]) shape.kept[i] = 1;
    if (!reduced[i] || keep_axes_) shape.output.push_back(shape.kept[i]);
  }
  return shape;
}

void RegisterReduce(OpRegistry& registry) {
  struct {
    const char* name;
    Reduction reduction;
    std::vector<int> since;
  } const operators[] = {
      {"ReduceSum", Reduction::kSum, {1, 11, 13}},
      {"ReduceMean", Reduction::kMean, {1, 11, 13, 18}},
      {"ReduceMax", Reduction::kMax, {1, 11, 12, 13, 18, 20}},
      {"ReduceMin", Reduction::kMin, {1, 11, 12, 13, 18, 20}},
      {"ReduceProd", Reduction::kProd, {1, 11, 13, 18}},
      {"ReduceL1", Reduction::kL1, {1, 11, 13, 18}},
      {"ReduceL2", Reduction::kL2, {1, 11, 13, 18}},
      {"ReduceLogSum", Reduction::kLogSum, {1, 11, 13, 18, 28}},
      {"ReduceLogSumExp", Reduction::kLogSumExp, {1, 11, 13, 18, 28}},
      {"ReduceSumSquare", Reduction::kSumSquare, {1, 11, 13, 18}},
  };
  for (const auto& entry : operators) {
    auto make = [reduction = entry.reduction](AttributeReader& attributes) {
      return std::make_unique<Reduce>(attributes, reduction);
    };
    registry.Register({"", entry.name, entry.since, {1, 2}, {1, 1}, make, kReduces});
  }
}

}  // namespace attnrun::ops
