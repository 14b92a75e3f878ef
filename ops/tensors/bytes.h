// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_BYTES_H_
#define ATTNRUN_OPS_TENSORS_BYTES_H_

#include <cstdint>

#include "attnrun/tensor.h"

namespace attnrun::ops {

// True if elements are integers of 8 bits.
inline bool IsByte(DataType type) { return type == DataType::kInt8 || type == DataType::kUint8; }

// Element i of a dense tensor. Precondition: IsByte(tensor.type()).
inline int32_t ByteAt(const Tensor& tensor, int64_t i) {
  return tensor.type() == DataType::kUint8 ? tensor.data<uint8_t>()[i] : tensor.data<int8_t>()[i];
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_BYTES_H_
