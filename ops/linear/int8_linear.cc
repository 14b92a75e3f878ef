// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/int8_linear.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/tensors/bytes.h"

namespace attnrun::ops {
namespace {

// Checks the type of a tensor, which messages call `what`, if it is defined.
absl::Status CheckType(const Tensor& tensor, DataType type, absl::string_view what) {
  if (!tensor.defined() || tensor.type() == type) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, " of type ", Name(type),
                                                 ", but it is ", TypeAndShape(tensor)));
}

// kInvalidArgument unless the tensor, if it is defined, is one number, or one per column where
// there are columns.
absl::Status CheckColumns(const Tensor& tensor, int64_t columns, absl::string_view what) {
  if (!tensor.defined() || tensor.num_elements() == 1) return absl::OkStatus();
  if (columns > 0 && tensor.shape() == Shape{columns}) return absl::OkStatus();
  const std::string shape = columns > 0 ? absl::StrCat(" or of shape [", columns, "]") : "";
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, " of one element", shape,
                                                 ", but it is ", TypeAndShape(tensor)));
}

// The element of a column in a list with one element per column, one for all, or none, which means
// 0.
double OfColumn(const std::vector<double>& values, size_t column) {
  if (values.empty()) return 0;
  return values[values.size() == 1 ? 0 : column];
}

absl::StatusOr<std::vector<double>> Read(const Tensor& tensor) {
  if (!tensor.defined()) return std::vector<double>();
  return ToDoubles(tensor);
}

}  // namespace

absl::Status Int8Linear::CheckTypes(const OpContext& context) const {
  const Tensor& x = context.input(kX);
  const Tensor& weight = context.input(kWeight);
  if (!IsByte(x.type()) || !IsByte(weight.type())) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected X and W0 of type int8 or uint8, but they are ", TypeAndShape(x),
                     " and ", TypeAndShape(weight)));
  }
  if (!context.has_input(kXScale)) return absl::InvalidArgumentError("x_scale is missing");
  const Tensor x_zero = InputOrUndefined(context, kXZeroPoint);
  for (const Weight& other : Weights(context)) {
    ATTNRUN_RETURN_IF_ERROR(CheckType(other.values, weight.type(), "all weights"));
  }
  constexpr DataType kFloat = DataType::kFloat;
  ATTNRUN_RETURN_IF_ERROR(CheckType(context.input(kXScale), kFloat, "x_scale"));
  ATTNRUN_RETURN_IF_ERROR(CheckColumns(context.input(kXScale), 0, "x_scale"));
  ATTNRUN_RETURN_IF_ERROR(CheckType(x_zero, x.type(), "x_zero_point"));
  ATTNRUN_RETURN_IF_ERROR(CheckColumns(x_zero, 0, "x_zero_point"));
  ATTNRUN_RETURN_IF_ERROR(CheckType(InputOrUndefined(context, kBias), kFloat, "bias"));
  return CheckType(InputOrUndefined(context, kResidual), kFloat, "residual");
}

absl::Status Int8Linear::CheckWeight(const Tensor& x, int index, const Weight& weight) const {
  const std::string name = absl::StrCat("w", index);
  ATTNRUN_RETURN_IF_ERROR(CheckMatrix(x, index, weight.values));
  const int64_t columns = weight.values.dim(1);
  if (!weight.scales.defined()) {
    return absl::InvalidArgumentError(absl::StrCat(name, "_scale is missing"));
  }
  ATTNRUN_RETURN_IF_ERROR(CheckType(weight.scales, DataType::kFloat, name + "_scale"));
  ATTNRUN_RETURN_IF_ERROR(CheckColumns(weight.scales, columns, name + "_scale"));
  ATTNRUN_RETURN_IF_ERROR(
      CheckType(weight.zero_points, weight.values.type(), name + "_zero_point"));
  return CheckColumns(weight.zero_points, columns, name + "_zero_point");
}

absl::StatusOr<std::vector<double>> Int8Linear::ReadX(const OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> x, Linear::ReadX(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> zero,
                           Read(InputOrUndefined(context, kXZeroPoint)));
  for (double& element : x) element -= OfColumn(zero, 0);
  return x;
}

absl::StatusOr<std::vector<double>> Int8Linear::ReadElements(const Weight& weight) const {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> elements, ToDoubles(weight.values));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> zeros, Read(weight.zero_points));
  const auto columns = static_cast<size_t>(weight.values.dim(1));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] -= OfColumn(zeros, i % columns);
  return elements;
}

absl::Status Int8Linear::ScaleSums(const OpContext& context, std::vector<double>& sums) const {
  std::vector<double> scales;
  for (const Weight& weight : Weights(context)) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> of_columns, ToDoubles(weight.scales));
    for (int64_t j = 0; j < weight.values.dim(1); ++j) scales.push_back(OfColumn(of_columns, j));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> x_scale, ToDoubles(context.input(kXScale)));
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto wrapped = static_cast<int32_t>(static_cast<int64_t>(sums[i]));
    sums[i] = wrapped * (x_scale[0] * scales[i % scales.size()]);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
