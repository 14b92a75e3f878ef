// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/int8_linear.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/linear/activate.h"
#include "ops/tensors/bytes.h"

namespace attnrun::ops {
namespace {

// Checks the type of input i, which messages call `what`.
absl::Status CheckType(const OpContext& context, int i, DataType type, absl::string_view what) {
  if (!context.has_input(i) || context.input(i).type() == type) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, " of type ", Name(type),
                                                 ", but it is ", TypeAndShape(context.input(i))));
}

absl::Status CheckTypes(const OpContext& context) {
  using Q = Int8Linear;
  for (const int required : {Q::kX, Q::kWeight, Q::kXScale, Q::kWeightScale}) {
    if (context.has_input(required)) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", required, " is missing"));
  }
  const DataType x = context.input(Q::kX).type();
  const DataType weight = context.input(Q::kWeight).type();
  if (!IsByte(x) || !IsByte(weight)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected X and W0 of type int8 or uint8, but they are ",
        TypeAndShape(context.input(Q::kX)), " and ", TypeAndShape(context.input(Q::kWeight))));
  }
  for (int i = 1; i < Q::NumWeights(context.num_inputs()); ++i) {
    ATTNRUN_RETURN_IF_ERROR(CheckType(context, Q::WeightInput(i), weight, absl::StrCat("W", i)));
  }
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, Q::kXZeroPoint, x, "x_zero_point"));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, Q::kWeightZeroPoint, weight, "w_zero_point"));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, Q::kXScale, DataType::kFloat, "x_scale"));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, Q::kWeightScale, DataType::kFloat, "w_scale"));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, Q::kBias, DataType::kFloat, "bias"));
  return CheckType(context, Q::kResidual, DataType::kFloat, "residual");
}

// Sets K and N of the shape.
absl::Status ResolveWeights(const OpContext& context, LinearShape& shape) {
  const Tensor& x = context.input(Int8Linear::kX);
  shape.k = x.rank() == 0 ? 0 : x.shape().back();
  for (int i = 0; i < Int8Linear::NumWeights(context.num_inputs()); ++i) {
    const int input = Int8Linear::WeightInput(i);
    const Tensor weight = InputOrUndefined(context, input);
    if (x.rank() == 0 || weight.rank() != 2 || weight.dim(0) != shape.k) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected X of rank 1 or more and W", i, " of shape [K, N", i,
                       "] with the last extent of X as K, but X is ", TypeAndShape(x), " and W", i,
                       " is ", TypeAndShape(weight)));
    }
    if (weight.dim(1) > INT64_MAX - shape.n) {
      return absl::InvalidArgumentError("the weights have more columns than 64 bits can count");
    }
    shape.n += weight.dim(1);
  }
  return absl::OkStatus();
}

// kInvalidArgument unless input i is one number or one per column.
absl::Status CheckColumns(const OpContext& context, int i, int64_t columns,
                          absl::string_view what) {
  if (!context.has_input(i) || context.input(i).num_elements() == 1) return absl::OkStatus();
  if (columns > 0 && context.input(i).shape() == Shape{columns}) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected ", what, columns > 0 ? " of one element or of shape [" : " of one element",
      columns > 0 ? absl::StrCat(columns, "]") : "", ", but it is ",
      TypeAndShape(context.input(i))));
}

}  // namespace

Int8Linear::Int8Linear(AttributeReader& attributes) : activation_(ReadActivation(attributes)) {}

int Int8Linear::NumWeights(size_t inputs) {
  return 1 + std::max(static_cast<int>(inputs) - kMoreWeights, 0);
}

absl::StatusOr<LinearShape> Int8Linear::Resolve(const OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  LinearShape shape;
  ATTNRUN_RETURN_IF_ERROR(ResolveWeights(context, shape));
  ATTNRUN_RETURN_IF_ERROR(CheckColumns(context, kXScale, 0, "x_scale"));
  ATTNRUN_RETURN_IF_ERROR(CheckColumns(context, kXZeroPoint, 0, "x_zero_point"));
  ATTNRUN_RETURN_IF_ERROR(CheckColumns(context, kWeightScale, shape.n, "w_scale"));
  ATTNRUN_RETURN_IF_ERROR(CheckColumns(context, kWeightZeroPoint, shape.n, "w_zero_point"));
  ATTNRUN_RETURN_IF_ERROR(ResolveRows(context, shape));
  return shape;
}

void Int8Linear::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = DataType::kFloat;
  const auto& x = context.input(kX).dims;
  if (x.has_value() && !x->empty()) {
    SymInt columns(0);
    for (int i = 0; i < NumWeights(context.num_inputs()); ++i) {
      const int input = WeightInput(i);
      if (!context.has_input(input)) continue;
      const auto& weight = context.input(input).dims;
      const bool known = weight.has_value() && weight->size() == 2;
      columns = known ? columns + (*weight)[1] : SymInt::Unknown();
    }
    y.dims = x;
    y.dims->back() = columns;
  }
  context.SetOutput(0, std::move(y));
}

}  // namespace attnrun::ops
