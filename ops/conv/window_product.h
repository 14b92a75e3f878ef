// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_WINDOW_PRODUCT_H_
#define ATTNRUN_OPS_CONV_WINDOW_PRODUCT_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_tiling.h"
#include "ops/conv/conv_weights.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/packed_matrix.h"

namespace attnrun::ops {

// One node's convolution as products of matrices, on packed weights:
//
//   y[n, g]^T [positions, features] = windows [positions, depth] · w[g]^T [depth, features] + bias
//
// It applies where every window is contiguous once x is channels last: windows that slide along a
// single axis, whose rows overlap in place, and windows that do not overlap, such as ViT's patches.
// Safe to call from many threads.
class WindowProduct {
 public:
  // False where windows are not contiguous or a product does not help: depthwise and 1x1
  // convolutions, sums of few terms, few features per group.
  static bool Suits(const ConvShape& shape);

  // Packs weights in the format of the model. `shape` stands for all calls, which differ from it
  // only in the extents of x. Null unless it Suits.
  static absl::StatusOr<std::unique_ptr<const WindowProduct>> Make(const ConvShape& shape,
                                                                   const ConvWeights& weights,
                                                                   const KernelContext& context);

  struct Operands {
    // [N, C, ..]
    const float* x;
    // [M], or null.
    const float* bias;
    // [N, M, ..]
    float* y;
  };

  // Scratch space comes from `allocator`; an interrupted run returns early and leaves y unfinished.
  // Returns false, having done nothing, if padding would make the copy of x absurdly large.
  absl::StatusOr<bool> Run(const ConvShape& shape, const Operands& operands,
                           Allocator& allocator) const;

  // The name and the arithmetic of its products.
  absl::string_view name() const { return GemmName(weights_[0].get()); }
  Precision precision() const { return GemmPrecision(weights_[0].get()); }

 private:
  WindowProduct() = default;

  // One per group.
  std::vector<std::shared_ptr<const PackedMatrix>> weights_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_WINDOW_PRODUCT_H_
