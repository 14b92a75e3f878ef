// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_IMPLICIT_GEMM_H_
#define ATTNRUN_OPS_CONV_IMPLICIT_GEMM_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/conv/channels_last_operands.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_weights.h"
#include "ops/gemm/packed_matrix.h"

namespace attnrun::ops {

// A convolution of channels-last images as products of matrices that are never written out: the
// windows along a line of x are rows of a matrix, a stride apart, and each run of a window's
// elements that are adjacent in x (a row of taps, or the channels of one) is a block of their
// columns. Lines that reach into the padding are copied with zeros around them, a tile at a time.
//
// Safe to call from many threads.
class ImplicitGemm {
 public:
  static absl::StatusOr<std::unique_ptr<const ImplicitGemm>> Make(const ConvWeights& weights,
                                                                  const KernelContext& context);

  // False if the copy of a tile would be absurdly large.
  static bool Serves(const ConvShape& shape);

  // Scratch space comes from `allocator`; an interrupted run returns early and leaves y unfinished.
  // Preconditions: Serves(shape), and y has elements.
  absl::Status Run(const ConvShape& shape, const ChannelsLastOperands& operands,
                   Allocator& allocator) const;

 private:
  ImplicitGemm() = default;

  // One per group: [taps * channels, features].
  std::vector<std::shared_ptr<const PackedMatrix>> weights_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_IMPLICIT_GEMM_H_
