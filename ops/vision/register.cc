// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/vision/affine_grid.h"
#include "ops/vision/col2im.h"
#include "ops/vision/deform_conv.h"
#include "ops/vision/grid_sample.h"
#include "ops/vision/max_roi_pool.h"
#include "ops/vision/max_unpool.h"
#include "ops/vision/non_max_suppression.h"
#include "ops/vision/roi_align.h"

namespace attnrun::ops {

void RegisterVision(OpRegistry& registry) {
  registry.Register({"", "AffineGrid", {20}, {2, 2}, {1, 1}, Make<AffineGrid>});
  registry.Register({"", "Col2Im", {18}, {3, 3}, {1, 1}, Make<Col2Im>});
  registry.Register({"", "DeformConv", {19, 22}, {3, 5}, {1, 1}, Make<DeformConv>});
  registry.Register({"", "GridSample", {16, 20, 22}, {2, 2}, {1, 1}, Make<GridSample>});
  registry.Register({kContribDomain, "GridSample", {1}, {2, 2}, {1, 1}, Make<GridSample>});
  registry.Register({"", "MaxRoiPool", {1, 22}, {2, 2}, {1, 1}, Make<MaxRoiPool>});
  registry.Register({"", "MaxUnpool", {9, 11, 22}, {2, 3}, {1, 1}, Make<MaxUnpool>});
  registry.Register({"", "NonMaxSuppression", {10, 11}, {2, 5}, {1, 1}, Make<NonMaxSuppression>});
  registry.Register({"", "RoiAlign", {10, 16, 22}, {3, 3}, {1, 1}, Make<RoiAlign>});
}

}  // namespace attnrun::ops
