// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv_weights.h"

namespace attnrun::ops {

ConvWeights ConvWeights::Of(const Tensor& w, int64_t group) {
  const int64_t taps = w.num_elements() / (w.dim(0) * w.dim(1));
  return {w, w.dim(0), w.dim(1), taps, group};
}

ConvWeights ConvWeights::Of(const Tensor& w, const ConvShape& shape) {
  return {w, shape.m, shape.c / shape.group, shape.kernel_size, shape.group};
}

StoredMatrix ConvWeights::ChannelsFirst(int64_t group) const {
  const int64_t rows = features / groups;
  const int64_t depth = channels * taps;
  return StoredMatrix(values.View({rows, depth}, {depth, 1}, group * rows * depth)).Transposed();
}

StoredMatrix ConvWeights::TapsFirst(int64_t group) const {
  StoredMatrix matrix = ChannelsFirst(group);
  matrix.row_stride = taps;
  matrix.run_rows = channels;
  matrix.run_stride = 1;
  return matrix;
}

}  // namespace attnrun::ops
