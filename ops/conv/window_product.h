// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_WINDOW_PRODUCT_H_
#define ATTNRUN_OPS_CONV_WINDOW_PRODUCT_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_tiling.h"
#include "ops/gemm/packed_matrix.h"

namespace attnrun::ops {

// One node's convolution as products of matrices, on packed weights:
//
//   y[n, g]^T [positions, features] = windows [positions, depth] · w[g]^T [depth, features] + bias
//
// It can be one where x, once it is channels last, has every window in one piece: windows that
// slide along a single axis, whose rows overlap in place, and windows that do not overlap at all,
// those of ViT's patches. Safe from many threads.
class WindowProduct {
 public:
  // Packs w [M, C/group, kernel..]; `shape` stands for all calls, which differ from it in the
  // extents of x alone. Null where windows do not lie so, or products do not help: depthwise ones,
  // and sums of a few terms.
  static absl::StatusOr<std::unique_ptr<const WindowProduct>> Make(const ConvShape& shape,
                                                                   const float* w);

  struct Operands {
    // [N, C, ..]
    const float* x;
    // [M], or null.
    const float* bias;
    // [N, M, ..]
    float* y;
  };

  // Scratch space comes from `allocator`; a run that was interrupted leaves work out. False where
  // padding would make the copy of x absurdly large: then nothing was done.
  absl::StatusOr<bool> Run(const ConvShape& shape, const Operands& operands,
                           Allocator& allocator) const;

 private:
  WindowProduct() = default;

  // By group.
  std::vector<std::shared_ptr<const PackedMatrix>> weights_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_WINDOW_PRODUCT_H_
