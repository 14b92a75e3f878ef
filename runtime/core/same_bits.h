// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_SAME_BITS_H_
#define ATTNRUN_CORE_SAME_BITS_H_

#include "attnrun/tensor.h"

namespace attnrun {

// True if type, shape and every bit of the elements are equal; of sequences, those of each tensor.
// Precondition: tensors of numbers are dense.
bool SameBits(const Tensor& a, const Tensor& b);

// True if both have tensors of the same names, with the same bits.
bool SameBits(const TensorMap& a, const TensorMap& b);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_SAME_BITS_H_
