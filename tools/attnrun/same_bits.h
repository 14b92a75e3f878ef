// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_SAME_BITS_H_
#define ATTNRUN_TOOLS_ATTNRUN_SAME_BITS_H_

#include "attnrun/tensor.h"

namespace attnrun::cli {

// True if type, shape and every bit of the elements are equal; of sequences, those of each tensor.
// Precondition: tensors of numbers are dense.
bool SameBits(const Tensor& a, const Tensor& b);

// True if both have tensors of the same names, with the same bits.
bool SameBits(const TensorMap& a, const TensorMap& b);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_SAME_BITS_H_
