// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_SCRATCH_H_
#define ATTNRUN_OPS_GEMM_SCRATCH_H_

#include <cstdint>

#include "hwy/aligned_allocator.h"

namespace attnrun::ops {

// A buffer that the calling thread lends while this exists, for blocks that a micro-kernel cannot
// read in place. The thread keeps the memory for the next Scratch at the same depth: those that
// exist on a thread at one time are nested, as local variables are, and each has its own memory.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // The buffer, aligned to cache lines. Its elements are lost when a later call asks for more.
  template <typename T>
  T* AtLeast(int64_t count) {
    const auto size = count * static_cast<int64_t>(sizeof(T));
    if (size > buffer_.size) buffer_.Grow(size);
    return reinterpret_cast<T*>(buffer_.memory.get());
  }

 private:
  struct Buffer {
    // Throws std::bad_alloc.
    void Grow(int64_t bytes);

    hwy::AlignedFreeUniquePtr<uint8_t[]> memory;
    int64_t size = 0;
  };
  struct Stack;

  // Throws std::bad_alloc.
  static Stack& ThreadStack();

  Buffer& buffer_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_SCRATCH_H_
