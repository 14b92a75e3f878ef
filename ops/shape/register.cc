// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/shape/dims.h"
#include "ops/shape/reshape.h"
#include "ops/shape/squeeze.h"

namespace attnrun::ops {

void RegisterShape(OpRegistry& registry) {
  registry.Register({"",
                     "Flatten",
                     {1, 9, 11, 13, 21, 23, 24, 25},
                     {1, 1},
                     {1, 1},
                     Make<Flatten>,
                     kKeepsOrder | SameSince(13)});
  registry.Register({"",
                     "Reshape",
                     {5, 13, 14, 19, 21, 23, 24, 25},
                     {2, 2},
                     {1, 1},
                     Make<Reshape>,
                     kKeepsOrder | SameSince(13)});
  registry.Register(
      {"", "Shape", {1, 13, 15, 19, 21, 23, 24, 25}, {1, 1}, {1, 1}, Make<ShapeOp>, SameSince(13)});
  registry.Register({"", "Size", {1, 13, 19, 21, 23, 24, 25}, {1, 1}, {1, 1}, Make<SizeOp>});
  registry.Register({"",
                     "Squeeze",
                     {1, 11, 13, 21, 23, 24, 25},
                     {1, 2},
                     {1, 1},
                     Make<Squeeze>,
                     kKeepsOrder | SameSince(13)});
  registry.Register({"",
                     "Unsqueeze",
                     {1, 11, 13, 21, 23, 24, 25},
                     {1, 2},
                     {1, 1},
                     Make<Unsqueeze>,
                     kKeepsOrder | SameSince(13)});
}

}  // namespace attnrun::ops
