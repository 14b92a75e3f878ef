// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_LAYER_NORMALIZATION_H_
#define ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_LAYER_NORMALIZATION_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Layer norms that are written out, over the last axis:
//
//   x -----.                                         x  scale bias
//   |       \                                         \   |   /
//   ReduceMean                          ->      LayerNormalization
//    \      /                                             |
//      Sub ------------------.                            y
//       |                     |
//   Pow(2) or Mul with itself |
//       |                     |
//   ReduceMean, Add epsilon   |
//       |                     |
//      Sqrt ---------------- Div, [Cast], [Mul scale], [Add bias] -> y
//
// with any spelling of the division by the root, and as TensorFlow writes it:
//
//   m = scale / sqrt(mean((x - mean(x))^2) + epsilon);  y = x * m + (bias - mean(x) * m)
//
// A bias that is added to a norm without one becomes the norm's.
namespace attnrun::opt {

absl::StatusOr<int> FuseLayerNormalization(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_NORMALIZATION_LAYER_NORMALIZATION_H_
