#include "execution/pool_allocator.h"

#include <algorithm>
#include <map>

#include "absl/numeric/bits.h"
#include "absl/synchronization/mutex.h"
#include "core/status.h"

namespace attnrun {
namespace {

// Below this the heap's own caches are faster than a lock.
constexpr size_t kSmall = 1024;

struct alignas(64) SmallBlock {
  char bytes[kSmall];
};
struct alignas(64) TinyBlock {
  char bytes[64];
};

// Sizes are rounded up to an eighth of their power of two: at most 12.5 % are lost.
size_t RoundUp(size_t bytes) {
  const size_t step = std::max<size_t>(absl::bit_floor(bytes) / 8, 64);
  return (bytes + step - 1) / step * step;
}

}  // namespace

class PoolAllocator::Pool : public std::enable_shared_from_this<PoolAllocator::Pool> {
 public:
  explicit Pool(Allocator& source) : source_(source) {}

  absl::StatusOr<std::shared_ptr<void>> Take(size_t bytes) {
    const size_t size = RoundUp(bytes);
    Block block = FindKept(size);
    if (block.memory == nullptr) {
      ATTNRUN_ASSIGN_OR_RETURN(block.memory, AllocateNew(size));
      block.size = size;
    }
    CountUsed(block.size);
    void* data = block.memory.get();
    return std::shared_ptr<void>(data, [pool = shared_from_this(), block = std::move(block)](
                                           void*) mutable { pool->Return(std::move(block)); });
  }

  size_t kept_bytes() const {
    absl::MutexLock lock(&mutex_);
    return kept_bytes_;
  }
  size_t peak_bytes() const {
    absl::MutexLock lock(&mutex_);
    return peak_bytes_;
  }

 private:
  struct Block {
    std::shared_ptr<void> memory;
    size_t size = 0;
  };

  // A kept block of `size` or up to half as much again; none of them if there is none.
  Block FindKept(size_t size) {
    absl::MutexLock lock(&mutex_);
    Block block;
    const auto it = kept_.lower_bound(size);
    if (it != kept_.end() && it->first <= size + size / 2) {
      block = {std::move(it->second), it->first};
      kept_bytes_ -= block.size;
      kept_.erase(it);
    }
    return block;
  }

  // What is kept may be what stands in the way: it goes before the request is refused.
  absl::StatusOr<std::shared_ptr<void>> AllocateNew(size_t size) {
    absl::StatusOr<std::shared_ptr<void>> memory = source_.Allocate(size);
    if (!absl::IsResourceExhausted(memory.status())) return memory;
    DropKept();
    return source_.Allocate(size);
  }

  void DropKept() {
    absl::MutexLock lock(&mutex_);
    kept_.clear();
    kept_bytes_ = 0;
  }

  void CountUsed(size_t size) {
    absl::MutexLock lock(&mutex_);
    used_bytes_ += size;
    peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  }

  void Return(Block block) {
    absl::MutexLock lock(&mutex_);
    used_bytes_ -= block.size;
    kept_bytes_ += block.size;
    kept_.emplace(block.size, std::move(block.memory));
    while (kept_bytes_ + used_bytes_ > peak_bytes_ + peak_bytes_ / 4) {
      kept_bytes_ -= kept_.begin()->first;
      kept_.erase(kept_.begin());
    }
  }

  Allocator& source_;
  mutable absl::Mutex mutex_;
  std::multimap<size_t, std::shared_ptr<void>> kept_ ABSL_GUARDED_BY(mutex_);
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t peak_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

PoolAllocator::PoolAllocator(Allocator& source) : pool_(std::make_shared<Pool>(source)) {}

absl::StatusOr<std::shared_ptr<void>> PoolAllocator::Allocate(size_t bytes) {
  if (bytes <= sizeof(TinyBlock)) return std::make_shared_for_overwrite<TinyBlock>();
  if (bytes <= sizeof(SmallBlock)) return std::make_shared_for_overwrite<SmallBlock>();
  return pool_->Take(bytes);
}

size_t PoolAllocator::kept_bytes() const { return pool_->kept_bytes(); }
size_t PoolAllocator::peak_bytes() const { return pool_->peak_bytes(); }

}  // namespace attnrun
