// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_POOL_ALLOCATOR_H_
#define ATTNRUN_EXECUTION_POOL_ALLOCATOR_H_

#include <memory>

#include "attnrun/tensor.h"

namespace attnrun::exec {

// Keeps freed blocks for the next allocation of about the same size, so that a repeated run asks
// the operating system for nothing. What it keeps and what is in use together stay within twice the
// most that was ever asked for at once: a run's largest tensors are seldom alive together, and
// blocks of all their sizes are kept. What was not used for longest goes first, so that a run of
// another shape finds its own blocks the second time. Safe from many threads; blocks may outlive
// the allocator.
class PoolAllocator final : public Allocator {
 public:
  explicit PoolAllocator(Allocator& source);

  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override;

  // Bytes kept for reuse, and the most that was asked for at once, rounded up.
  size_t kept_bytes() const;
  size_t peak_bytes() const;

 private:
  class Pool;
  std::shared_ptr<ops::Pool> pool_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_POOL_ALLOCATOR_H_
