// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_LINE_CONV_H_
#define ATTNRUN_OPS_CONV_LINE_CONV_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "ops/conv/tiled_conv.h"

namespace attnrun::ops {

// One node's convolution to few features, on vectors of positions along the last axis: a product
// over vectors of features would be mostly padding. Safe to call from many threads.
class LineConv {
 public:
  // False where it does not help: many features, strides along the last axis, depthwise and 1x1
  // convolutions.
  static bool Suits(const ConvShape& typical);

  // Packs w [M, C/group, kernel..]. Calls differ from `typical` only in the extents of x.
  // Precondition: Suits(typical).
  static std::unique_ptr<const LineConv> Make(const ConvShape& typical, const float* w);

  // True unless lines are short, or padding would make the copies of x absurdly large.
  static bool Serves(const ConvShape& shape);

  // y = w * x + bias; `operands.w` is not read. Scratch space comes from `allocator`; an
  // interrupted run returns early and leaves y unfinished. Precondition: Serves(shape).
  absl::Status Run(const ConvShape& shape, const TiledConv::Operands& operands,
                   Allocator& allocator) const;

 private:
  LineConv() = default;

  // One after the other for each group.
  std::vector<float> packed_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_LINE_CONV_H_
