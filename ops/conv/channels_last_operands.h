// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CHANNELS_LAST_OPERANDS_H_
#define ATTNRUN_OPS_CONV_CHANNELS_LAST_OPERANDS_H_

#include "ops/gemm/activation.h"

namespace attnrun::ops {

// The operands of a run of attnrun.Conv, as floats, and how its sums end.
struct ChannelsLastOperands {
  // [N, .., C]
  const float* x;
  // [M], or null.
  const float* bias;
  // [N, .., M], or null.
  const float* residual;
  // True if the residual is added before the activation.
  bool residual_first;
  Activation activation;
  // [N, .., M]
  float* y;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CHANNELS_LAST_OPERANDS_H_
