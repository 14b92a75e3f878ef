// SPDX-License-Identifier: Apache-2.0
#include "ops/vision/max_roi_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/interface/type_set.h"
#include "ops/tensors/index_range.h"

namespace attnrun::ops {
namespace {

// The elements of bin `bin`, of `bins`, of a region from `begin` to `end`, both included.
IndexRange BinOf(double begin, double end, int64_t bin, int64_t bins, int64_t extent) {
  const double size = std::max(end - begin + 1, 1.0) / static_cast<double>(bins);
  const double first = begin + std::floor(static_cast<double>(bin) * size);
  const double last = begin + std::ceil(static_cast<double>(bin + 1) * size);
  const auto most = static_cast<double>(extent);
  return {.begin = static_cast<int64_t>(std::clamp(first, 0.0, most)),
          .end = static_cast<int64_t>(std::clamp(last, 0.0, most))};
}

double Greatest(const double* image, int64_t width, const IndexRange& rows,
                const IndexRange& columns) {
  if (rows.size() <= 0 || columns.size() <= 0) return 0;
  double greatest = -std::numeric_limits<double>::infinity();
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const double* line = image + row * width;
    for (int64_t i = columns.begin; i < columns.end; ++i) greatest = std::max(greatest, line[i]);
  }
  return greatest;
}

absl::Status CheckRoi(const double* roi, const Tensor& x) {
  const bool finite = std::all_of(roi, roi + 5, [](double v) { return std::isfinite(v); });
  if (finite && roi[0] >= 0 && roi[0] < static_cast<double>(x.dim(0))) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected finite regions of the ", x.dim(0),
                                                 " images, but found one of image ", roi[0]));
}

}  // namespace

absl::Status MaxRoiPool::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kFloats));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 1, kFloats));
  const Tensor& x = context.input(0);
  const Tensor& regions = context.input(1);
  if (x.rank() != 4 || regions.rank() != 2 || regions.dim(1) != 5 || pooled_.size() != 2 ||
      pooled_[0] < 1 || pooled_[1] < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected x [N,C,H,W], rois [R,5] and a pooled_shape of two extents, but found ",
        TypeAndShape(x), ", ", TypeAndShape(regions), " and ", ToString(absl::MakeSpan(pooled_))));
  }
  const Shape shape = {regions.dim(0), x.dim(1), pooled_[0], pooled_[1]};
  // The memory limit applies to the output before anything else is as large.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), shape));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> rois, ToDoubles(regions));
  std::vector<double> results;
  for (int64_t i = 0; i < shape[0] * shape[1] && !Interrupted(); ++i) {
    const double* roi = rois.data() + i / shape[1] * 5;
    ATTNRUN_RETURN_IF_ERROR(CheckRoi(roi, x));
    const int64_t plane = static_cast<int64_t>(roi[0]) * shape[1] + i % shape[1];
    const double* image = values.data() + plane * x.dim(2) * x.dim(3);
    const auto bin_of = [&](int axis, int64_t bin) {
      return BinOf(std::round(roi[2 - axis] * scale_), std::round(roi[4 - axis] * scale_), bin,
                   pooled_[axis], x.dim(axis + 2));
    };
    for (int64_t bin = 0; bin < pooled_[0] * pooled_[1]; ++bin) {
      results.push_back(
          Greatest(image, x.dim(3), bin_of(0, bin / pooled_[1]), bin_of(1, bin % pooled_[1])));
    }
  }
  results.resize(y->num_elements());
  ATTNRUN_ASSIGN_OR_RETURN(*y, FromDoubles(x.type(), shape, results, context.allocator()));
  return absl::OkStatus();
}

void MaxRoiPool::Infer(InferContext& context) const {
  const auto extent = [&](int i, size_t axis) {
    const std::optional<Dims>& dims = context.input(i).dims;
    return dims.has_value() && dims->size() > axis ? (*dims)[axis] : SymInt::Unknown();
  };
  if (pooled_.size() != 2) return;
  SetDims(context, 0, Dims{extent(1, 0), extent(0, 1), pooled_[0], pooled_[1]});
}

void MaxRoiPool::Axes(AxesContext& context) const {
  context.Add({{1, 0}}, {{0, 0}});
  context.Add({{0, 1}}, {{0, 1}});
}

}  // namespace attnrun::ops
