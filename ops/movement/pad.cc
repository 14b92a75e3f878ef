// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/pad.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

PadMode ReadMode(AttributeReader& attributes) {
  const std::string mode =
      attributes.version() < 19
          ? attributes.OneOf("mode", "constant", {"constant", "reflect", "edge"})
          : attributes.OneOf("mode", "constant", {"constant", "reflect", "edge", "wrap"});
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  return mode == "wrap" ? PadMode::kWrap : PadMode::kConstant;
}

// extent + before + after; -1 if that is negative or beyond int64, or if one side alone removes
// more than there is.
int64_t PaddedExtent(int64_t extent, int64_t before, int64_t after) {
  int64_t sum = 0;
  if (before < -extent || after < -extent) return -1;
  if (__builtin_add_overflow(extent, before, &sum) || __builtin_add_overflow(sum, after, &sum)) {
    return -1;
  }
  return sum;
}

}  // namespace

Pad::Pad(AttributeReader& attributes)
    : mode_(ReadMode(attributes)), from_inputs_(attributes.version() >= 11) {
  attributes.ExpectInputs(from_inputs_ ? 2 : 1, !from_inputs_                ? 1
                                                : attributes.version() >= 18 ? 4
                                                                             : 3);
  if (from_inputs_) return;
  const auto pads = attributes.Required<std::vector<int64_t>>("pads");
  pads_.assign(pads.begin(), pads.end());
  value_ = attributes.Float("value", 0);
}

absl::StatusOr<Shape> Pad::PaddedAxes(const OpContext& context) const {
  const int rank = context.input(0).rank();
  if (!context.has_input(3)) return FirstAxes(rank);
  ATTNRUN_ASSIGN_OR_RETURN(Shape axes, ReadInts(context.input(3), "axes"));
  ATTNRUN_RETURN_IF_ERROR(NormalizeAxes(axes, rank));
  return axes;
}

absl::StatusOr<Padding> Pad::Resolve(const OpContext& context) const {
  const Tensor& data = context.input(0);
  Shape pads = pads_;
  if (from_inputs_) {
    ATTNRUN_ASSIGN_OR_RETURN(pads, ReadInts(context.input(1), "pads"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Shape axes, PaddedAxes(context));
  if (pads.size() != 2 * axes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pads ", ToString(pads), " must have two numbers for each of ", axes.size(), " axes"));
  }
  Padding padding = {Shape(data.rank(), 0), data.shape()};
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t extent = data.shape()[axes[i]];
    const int64_t padded = PaddedExtent(extent, pads[i], pads[axes.size() + i]);
    if (padded < 0 || (padded > 0 && extent == 0 && mode_ != PadMode::kConstant)) {
      return absl::InvalidArgumentError(absl::StrCat("cannot pad axis ", axes[i], " of ",
                                                     TypeAndShape(data), " by ", pads[i], " and ",
                                                     pads[axes.size() + i], " in this mode"));
    }
    padding.before[axes[i]] = pads[i];
    padding.shape[axes[i]] = padded;
  }
  return padding;
}

absl::StatusOr<Tensor> Pad::Value(const OpContext& context) const {
  const DataType type = context.input(0).type();
  if (context.has_input(2)) {
    const Tensor& value = context.input(2);
    if (value.type() == type && value.num_elements() >= 1) return value;
    return absl::InvalidArgumentError(absl::StrCat("constant_value must be a scalar of ",
                                                   Name(type), ", but is ", TypeAndShape(value)));
  }
  if (type == DataType::kString) return Tensor::Allocate(type, {1});
  if (type == DataType::kComplex64 || type == DataType::kComplex128) {
    return FromComplex(type, {1}, {{value_, 0}});
  }
  return FromDoubles(type, {1}, {value_});
}

}  // namespace attnrun::ops
