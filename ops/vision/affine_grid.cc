// SPDX-License-Identifier: Apache-2.0
#include "ops/vision/affine_grid.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

double Place(int64_t position, int64_t extent, bool align_corners) {
  const auto at = static_cast<double>(position);
  const auto count = static_cast<double>(extent);
  if (!align_corners) return (2 * at + 1) / count - 1;
  return extent > 1 ? 2 * at / (count - 1) - 1 : -1;
}

absl::Status CheckTheta(const Tensor& theta, const Shape& size) {
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  if ((axes == 2 || axes == 3) && IsFloatingPoint(theta.type()) && theta.rank() == 3 &&
      theta.dim(0) == size[0] && theta.dim(1) == axes && theta.dim(2) == axes + 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected theta of floats [N,r,r+1] and a size [N,C,D1,..,Dr], r of 2 or 3, but "
                   "found ",
                   TypeAndShape(theta), " and the size ", ToString(size)));
}

}  // namespace

absl::Status AffineGrid::Reference(OpContext& context) const {
  const Tensor& theta = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const Shape size, ReadInts(context.input(1), "size"));
  ATTNRUN_RETURN_IF_ERROR(CheckTheta(theta, size));
  const size_t axes = size.size() - 2;
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(static_cast<int64_t>(axes));
  // The memory limit applies to the output before anything else is as large.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, theta.type(), shape));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> maps, ToDoubles(theta));
  std::vector<double> results;
  const auto row = static_cast<int64_t>(axes);
  const int64_t places_of_all = y->num_elements() / row;
  for (int64_t i = 0; i < places_of_all; ++i) {
    std::vector<double> places(axes + 1, 1.0);
    int64_t rest = i;
    for (size_t axis = axes; axis-- > 0;) {
      const int64_t extent = size[axis + 2];
      places[axes - 1 - axis] = Place(rest % extent, extent, align_corners_);
      rest /= extent;
    }
    const int64_t sample = i / (places_of_all / size[0]);
    for (int64_t to = 0; to < row; ++to) {
      const double* factors = maps.data() + (sample * row + to) * (row + 1);
      double sum = 0;
      for (int64_t from = 0; from <= row; ++from) sum += factors[from] * places[from];
      results.push_back(sum);
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(*y, FromDoubles(theta.type(), shape, results, context.allocator()));
  return absl::OkStatus();
}

void AffineGrid::Infer(InferContext& context) const {
  SetDims(context, 0, std::nullopt);
  const std::optional<std::vector<SymInt>>& size = context.input(1).contents;
  if (!size.has_value() || (size->size() != 4 && size->size() != 5)) return;
  Dims dims = {(*size)[0]};
  dims.insert(dims.end(), size->begin() + 2, size->end());
  dims.emplace_back(static_cast<int64_t>(size->size()) - 2);
  SetDims(context, 0, std::move(dims));
}

}  // namespace attnrun::ops
