// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CONV_WEIGHTS_H_
#define ATTNRUN_OPS_CONV_CONV_WEIGHTS_H_

#include <cstdint>

#include "attnrun/tensor.h"
#include "ops/conv/conv.h"
#include "ops/gemm/stored_matrix.h"

namespace attnrun::ops {

// The weights of a convolution [features, channels of a group, taps], as a model stores them. They
// are packed where they lie, so that a store of packed weights knows them by their place.
struct ConvWeights {
  // w [M, C/group, kernel..], which has elements. Precondition: group divides M.
  static ConvWeights Of(const Tensor& w, int64_t group);
  // w as calls of this shape have it.
  static ConvWeights Of(const Tensor& w, const ConvShape& shape);

  // A view of w[g]^T [channels * taps, features of a group], in the order of w.
  StoredMatrix ChannelsFirst(int64_t group) const;
  // The same matrix, whose rows have the order of the elements of a channels-last window.
  StoredMatrix TapsFirst(int64_t group) const;

  // Dense, of float, float16 or bfloat16.
  Tensor values;
  int64_t features = 0;
  int64_t channels = 0;
  int64_t taps = 0;
  int64_t groups = 1;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CONV_WEIGHTS_H_
