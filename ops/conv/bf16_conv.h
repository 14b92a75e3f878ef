// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_BF16_CONV_H_
#define ATTNRUN_OPS_CONV_BF16_CONV_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/conv/channels_last_operands.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_weights.h"
#include "ops/conv/tiled_conv.h"
#include "ops/gemm/bf16_amx.h"
#include "ops/gemm/packed_matrix.h"
#include "ops/interface/kernel_context.h"

namespace attnrun::ops {

// Images in bf16 in place of those of the operands, or null.
struct RoundedImages {
  const uint16_t* x = nullptr;
  uint16_t* y = nullptr;
};

// Convolutions with constant weights in bf16 on AMX, if the precision asked for is bf16 or int8, or
// the weights are stored as bfloat16: the windows of the rounded image, whose channels are last,
// are the rows of a matrix, which is written some rows at a time as the product asks for them. Safe
// to call from many threads.
class Bf16Conv {
 public:
  // Null on other processors, for other precisions, and for groups of few features, which other
  // kernels compute as fast.
  static absl::StatusOr<std::unique_ptr<const Bf16Conv>> Make(const ConvWeights& weights,
                                                              const KernelContext& context);

  // Scratch space comes from `allocator`; an interrupted run returns early and leaves y unfinished.
  // Precondition: y has elements.
  absl::Status Run(const ConvShape& shape, const ChannelsLastOperands& operands,
                   const RoundedImages& rounded, Allocator& allocator) const;
  // As above, for images whose channels come first.
  absl::Status Run(const ConvShape& shape, const TiledConv::Operands& operands,
                   Allocator& allocator) const;

  absl::string_view name() const;

 private:
  // How sums end. Rows of y and of the residual are those of all windows, or of some.
  struct Ending {
    const float* bias = nullptr;
    const float* residual = nullptr;
    bool residual_first = false;
    Activation activation = {};
    Bf16Output y = {};
  };

  Bf16Conv() = default;
  // Computes windows `range` of [N, output..] to rows of y. `x`: bf16 [group, N, input.., C/group].
  void Multiply(const ConvShape& shape, const uint16_t* x, IndexRange range,
                const Ending& ending) const;

  // One for each group: [taps * channels, features].
  std::vector<std::shared_ptr<const PackedMatrix>> weights_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_BF16_CONV_H_
