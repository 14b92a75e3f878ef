// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_PATCH_MATRIX_H_
#define ATTNRUN_OPS_CONV_PATCH_MATRIX_H_

#include <cstdint>

#include "ops/conv/sliding_window.h"
#include "ops/gemm/gemm.h"

namespace attnrun::ops {

// The matrix P that makes a convolution a product W·P: row (c, k), column p holds the element of
// channel c that kernel element k reads when the window is at p, 0 in the padding. It is written
// panel by panel as the GEMM needs it, never as a whole.
class PatchMatrix final : public BlockSource {
 public:
  // `channels`: [C, ..] with `input_size` floats each. It and `window` must outlive this.
  PatchMatrix(const SlidingWindow& window, const float* channels, int64_t input_size,
              int64_t kernel_size)
      : window_(window), channels_(channels), input_size_(input_size), kernel_size_(kernel_size) {}

  void Copy(int64_t row, int64_t rows, int64_t column, int64_t columns, float* to,
            int64_t width) const override;

 private:
  // Copies `count` columns of one row, from `position` on, all in one row of the output.
  void CopyRun(int64_t row, const Shape& position, int64_t count, float* to) const;

  const SlidingWindow& window_;
  const float* channels_;
  int64_t input_size_;
  int64_t kernel_size_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_PATCH_MATRIX_H_
