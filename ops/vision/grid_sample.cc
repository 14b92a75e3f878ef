// SPDX-License-Identifier: Apache-2.0
#include "ops/vision/grid_sample.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

constexpr size_t kMostAxes = 3;

// Version 20 shortened the names; exporters write either in any version.
GridMode ReadMode(AttributeReader& attributes) {
  const std::string mode =
      attributes.OneOf("mode", "linear", {"linear", "bilinear", "nearest", "cubic", "bicubic"});
  if (mode == "nearest") return GridMode::kNearest;
  return mode == "cubic" || mode == "bicubic" ? GridMode::kCubic : GridMode::kLinear;
}

GridPadding ReadPadding(AttributeReader& attributes) {
  const std::string padding =
      attributes.OneOf("padding_mode", "zeros", {"zeros", "border", "reflection"});
  if (padding == "zeros") return GridPadding::kZeros;
  return padding == "border" ? GridPadding::kBorder : GridPadding::kReflection;
}

}  // namespace

GridSample::GridSample(AttributeReader& attributes)
    : attributes_{.mode = ReadMode(attributes),
                  .padding = ReadPadding(attributes),
                  .align_corners = attributes.Int("align_corners", 0) != 0} {}

absl::StatusOr<Shape> CheckGrid(const Tensor& x, const Tensor& grid) {
  const int axes = x.rank() - 2;
  const bool fits = axes >= 1 && grid.rank() == x.rank() && IsFloatingPoint(grid.type()) &&
                    grid.dim(0) == x.dim(0) && grid.dim(axes + 1) == axes;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected x [N,C,D1,..,Dr] and a grid of floats [N,E1,..,Er,r], but found ",
                     TypeAndShape(x), " and ", TypeAndShape(grid)));
  }
  if (axes > static_cast<int>(kMostAxes)) {
    return absl::UnimplementedError(absl::StrCat("expected images of at most ", kMostAxes,
                                                 " axes, but found x ", TypeAndShape(x)));
  }
  Shape shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  if (count > 0 && x.num_elements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected images with elements, but found x ", TypeAndShape(x)));
  }
  return shape;
}

void GridSample::Infer(InferContext& context) const {
  const std::optional<Dims>& x = context.input(0).dims;
  const std::optional<Dims>& grid = context.input(1).dims;
  std::optional<Dims> dims;
  if (grid.has_value() && grid->size() >= 3) {
    const bool known = x.has_value() && x->size() == grid->size();
    dims = Dims(grid->begin(), grid->end() - 1);
    if (known) dims->front() = Same(x->front(), grid->front());
    dims->insert(dims->begin() + 1, known ? (*x)[1] : SymInt::Unknown());
  } else if (x.has_value() && x->size() >= 3) {
    dims = UnknownDims(x->size());
    std::copy_n(x->begin(), 2, dims->begin());
  }
  SetDims(context, 0, std::move(dims));
}

void GridSample::Axes(AxesContext& context) const {
  const std::optional<Dims>& dims = context.output(0).dims;
  if (!dims.has_value()) return;
  context.Add({{0, 0}, {1, 0}}, {{0, 0}});
  context.Add({{0, 1}}, {{0, 1}});
  for (size_t axis = 2; axis < dims->size(); ++axis) {
    context.Add({{1, axis - 1}}, {{0, axis}});
  }
}

}  // namespace attnrun::ops
