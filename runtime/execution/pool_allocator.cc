// SPDX-License-Identifier: Apache-2.0
#include "execution/pool_allocator.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <map>

#include "absl/numeric/bits.h"
#include "absl/synchronization/mutex.h"
#include "core/status.h"

namespace attnrun::exec {
namespace {

// Below this size the heap's own caches are faster than taking a lock.
constexpr size_t kSmall = 1024;

struct alignas(64) SmallBlock {
  char bytes[kSmall];
};
struct alignas(64) TinyBlock {
  char bytes[64];
};

// Rounds up to a multiple of an eighth of the largest power of two in `bytes`: at most 12.5 % are
// lost.
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
    CountUsed(size, block.size);
    void* data = block.memory.get();
    return std::shared_ptr<void>(
        data, [pool = shared_from_this(), size, block = std::move(block)](void*) mutable {
          pool->Return(size, std::move(block));
        });
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
  // Least recently used first.
  using Kept = std::list<Block>;

  // The smallest kept block of `size` to 1.5 * `size` bytes; among equals the one used last, which
  // may still be in cache. Empty if there is none.
  Block FindKept(size_t size) {
    absl::MutexLock lock(&mutex_);
    const auto smallest = by_size_.lower_bound(size);
    if (smallest == by_size_.end() || smallest->first > size + size / 2) return {};
    return Remove(std::prev(by_size_.upper_bound(smallest->first)));
  }

  Block Remove(std::multimap<size_t, Kept::iterator>::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Block block = std::move(*entry->second);
    kept_bytes_ -= block.size;
    kept_.erase(entry->second);
    by_size_.erase(entry);
    return block;
  }

  // If the source is exhausted, frees all kept blocks, which may be the reason, and tries again.
  absl::StatusOr<std::shared_ptr<void>> AllocateNew(size_t size) {
    DropBeyondBound(size);
    absl::StatusOr<std::shared_ptr<void>> memory = source_.Allocate(size);
    if (!absl::IsResourceExhausted(memory.status())) return memory;
    DropKept();
    return source_.Allocate(size);
  }

  void DropKept() {
    absl::MutexLock lock(&mutex_);
    by_size_.clear();
    kept_.clear();
    kept_bytes_ = 0;
  }

  // Makes room for `size` more bytes.
  void DropBeyondBound(size_t size) {
    absl::MutexLock lock(&mutex_);
    const size_t bound = 2 * std::max(peak_bytes_, wanted_bytes_ + size);
    while (!kept_.empty() && kept_bytes_ + used_bytes_ + size > bound) DropOldest();
  }

  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto [entry, end] = by_size_.equal_range(kept_.front().size);
    while (entry != end && entry->second != kept_.begin()) ++entry;
    Remove(entry);
  }

  void CountUsed(size_t wanted, size_t size) {
    absl::MutexLock lock(&mutex_);
    used_bytes_ += size;
    wanted_bytes_ += wanted;
    peak_bytes_ = std::max(peak_bytes_, wanted_bytes_);
  }

  void Return(size_t wanted, Block block) {
    absl::MutexLock lock(&mutex_);
    used_bytes_ -= block.size;
    wanted_bytes_ -= wanted;
    kept_bytes_ += block.size;
    const size_t size = block.size;
    kept_.push_back(std::move(block));
    by_size_.emplace(size, std::prev(kept_.end()));
    while (kept_bytes_ + used_bytes_ > 2 * peak_bytes_) DropOldest();
  }

  Allocator& source_;
  mutable absl::Mutex mutex_;
  Kept kept_ ABSL_GUARDED_BY(mutex_);
  std::multimap<size_t, Kept::iterator> by_size_ ABSL_GUARDED_BY(mutex_);
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Bytes of the blocks in use; bytes requested for them, which may be fewer; and the most bytes
  // requested at once.
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t wanted_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
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

}  // namespace attnrun::exec
