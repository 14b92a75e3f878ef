// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/determinant.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/infer_rules.h"
#include "ops/interface/type_set.h"

namespace attnrun::ops {
namespace {

// Gaussian elimination of a matrix [n, n], by the greatest pivot of each column.
double Eliminate(double* matrix, int64_t n) {
  double product = 1;
  for (int64_t column = 0; column < n && !Interrupted(); ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      const bool larger =
          std::fabs(matrix[row * n + column]) > std::fabs(matrix[pivot * n + column]);
      if (larger) pivot = row;
    }
    const double head = matrix[pivot * n + column];
    product *= head;
    if (head == 0) return product;
    if (pivot != column) {
      product = -product;
      std::swap_ranges(matrix + pivot * n, matrix + (pivot + 1) * n, matrix + column * n);
    }
    for (int64_t row = column + 1; row < n; ++row) {
      const double factor = matrix[row * n + column] / head;
      for (int64_t i = column; i < n; ++i) matrix[row * n + i] -= factor * matrix[column * n + i];
    }
  }
  return product;
}

}  // namespace

absl::Status Determinant::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kFloats));
  const Tensor& x = context.input(0);
  if (x.rank() < 2 || x.dim(x.rank() - 1) != x.dim(x.rank() - 2)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected matrices [..,M,M], but found ", TypeAndShape(x)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
  const Shape shape(x.shape().begin(), x.shape().end() - 2);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), shape));
  const int64_t n = x.dim(x.rank() - 1);
  std::vector<double> results;
  results.reserve(y->num_elements());
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    results.push_back(Eliminate(values.data() + i * n * n, n));
  }
  ATTNRUN_ASSIGN_OR_RETURN(*y, FromDoubles(x.type(), shape, results, context.allocator()));
  return absl::OkStatus();
}

void Determinant::Infer(InferContext& context) const {
  std::optional<Dims> dims = context.input(0).dims;
  if (dims.has_value() && dims->size() >= 2) {
    dims->resize(dims->size() - 2);
  } else {
    dims.reset();
  }
  SetDims(context, 0, std::move(dims));
}

void Determinant::Axes(AxesContext& context) const { AddLeadingAxes(context, 2); }

}  // namespace attnrun::ops
