// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_POOL_ALLOCATOR_H_
#define ATTNRUN_EXECUTION_POOL_ALLOCATOR_H_

#include <memory>

#include "attnrun/tensor.h"
#include "execution/free_list.h"

namespace attnrun::exec {

// Keeps freed blocks for later allocations of about the same size, so that a repeated run requests
// nothing from the operating system. Blocks kept and in use together take at most twice the most
// that was ever requested at once: a run's largest tensors are seldom alive together, and blocks of
// all their sizes are kept. The least recently used block is dropped first, so that a run with
// another shape finds its own blocks the second time. Thread-safe; blocks may outlive the
// allocator.
class PoolAllocator final : public Allocator {
 public:
  // `source` lives as long as the last block; it is not null.
  explicit PoolAllocator(std::shared_ptr<Allocator> source);
  // `source` must outlive the last block.
  explicit PoolAllocator(Allocator& source);

  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override;

  // Bytes in use and kept for reuse; bytes kept for reuse; and the most bytes requested at once,
  // after rounding up.
  size_t bytes() const;
  size_t kept_bytes() const;
  size_t peak_bytes() const;

 private:
  class Pool;
  std::shared_ptr<Pool> pool_;
  // For the smallest blocks, which are of two sizes and never dropped while the allocator exists.
  std::shared_ptr<FreeList> tiny_;
  std::shared_ptr<FreeList> small_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_POOL_ALLOCATOR_H_
