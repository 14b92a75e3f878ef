// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_LIMITED_ALLOCATOR_H_
#define ATTNRUN_EXECUTION_LIMITED_ALLOCATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "attnrun/tensor.h"

namespace attnrun::exec {

// Passes on blocks of `source` of at most `tensor_limit` bytes, while the blocks in use total at
// most `limit`. Thread-safe; blocks may outlive the allocator.
class LimitedAllocator final : public Allocator {
 public:
  LimitedAllocator(Allocator& source, int64_t limit, int64_t tensor_limit);

  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override;

 private:
  Allocator& source_;
  const int64_t limit_;
  const int64_t tensor_limit_;
  const std::shared_ptr<std::atomic<int64_t>> used_;
};

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_LIMITED_ALLOCATOR_H_
