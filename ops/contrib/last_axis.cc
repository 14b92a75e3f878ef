// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/last_axis.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"

namespace attnrun::ops {

absl::Status CheckFloats(const Tensor& x, int64_t divisor) {
  if (IsFloatingPoint(x.type()) && x.rank() > 0 && x.dim(x.rank() - 1) % divisor == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("expected floats with a last axis",
                                                 divisor == 1 ? "" : " of even length",
                                                 ", but found ", TypeAndShape(x)));
}

absl::Status CheckHasInput(const OpContext& context, int i, absl::string_view name) {
  if (context.has_input(i)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("required input ", i, ", ", name, ", is left out"));
}

absl::StatusOr<std::vector<double>> ReadRow(const OpContext& context, int i, double otherwise) {
  const Tensor& x = context.input(0);
  const int64_t length = x.dim(x.rank() - 1);
  if (!context.has_input(i)) return std::vector<double>(std::max<int64_t>(length, 1), otherwise);
  const Tensor& row = context.input(i);
  if (row.type() != x.type() || row.shape() != Shape{length}) {
    return absl::InvalidArgumentError(absl::StrCat("expected input ", i, " to be ", Name(x.type()),
                                                   "[", length, "], but it is ",
                                                   TypeAndShape(row)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> elements, ToDoubles(row));
  if (elements.empty()) elements.push_back(otherwise);
  return elements;
}

absl::Status SetDoubles(OpContext& context, int i, DataType type, absl::Span<const int64_t> shape,
                        absl::Span<const double> values) {
  if (!context.wants_output(i)) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, FromDoubles(type, shape, values, context.allocator()));
  context.SetOutput(i, std::move(tensor));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
