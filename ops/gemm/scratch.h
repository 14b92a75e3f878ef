// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_SCRATCH_H_
#define ATTNRUN_OPS_GEMM_SCRATCH_H_

#include <cstdint>

#include "hwy/aligned_allocator.h"

namespace attnrun::ops {

// A buffer that a thread keeps from one product to the next, for blocks that a micro-kernel cannot
// read in place. Aligned to cache lines.
class Scratch {
 public:
  template <typename T>
  T* AtLeast(int64_t count) {
    const auto size = count * static_cast<int64_t>(sizeof(T));
    if (size > available_) {
      buffer_ = hwy::AllocateAligned<uint8_t>(size);
      available_ = size;
    }
    return reinterpret_cast<T*>(buffer_.get());
  }

 private:
  hwy::AlignedFreeUniquePtr<uint8_t[]> buffer_;
  int64_t available_ = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_SCRATCH_H_
