// SPDX-License-Identifier: Apache-2.0
#include "execution/pool_allocator.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "absl/numeric/bits.h"
#include "core/status.h"
#include "execution/free_list.h"

namespace attnrun::exec {
namespace {

// Blocks of up to this size are kept whatever number of bytes they were for.
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
  explicit Pool(std::shared_ptr<Allocator> source) : source_(std::move(source)) {}

  absl::StatusOr<std::shared_ptr<void>> Take(size_t bytes) {
    const size_t size = RoundUp(bytes);
    Block block = FindKept(size);
    if (block.empty()) {
      ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<void> memory, AllocateNew(size));
      block = Block(std::move(memory), size);
    }
    void* data = block.data();
    auto loan = std::allocate_shared<Loan>(FromFreeList<Loan>(loans_), shared_from_this(), size,
                                           std::move(block));
    return std::shared_ptr<void>(std::move(loan), data);
  }

  size_t bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_bytes_ + used_bytes_;
  }
  size_t kept_bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_bytes_;
  }
  size_t peak_bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return peak_bytes_;
  }

 private:
  struct Memory {
    std::shared_ptr<void> memory;
    size_t size = 0;
  };
  // Least recently used first.
  using Kept = std::list<Memory>;
  using BySize = std::multimap<size_t, Kept::iterator>;

  // A piece of memory with its nodes in the containers of kept ones, so that to give it back
  // allocates nothing. At most one piece.
  class Block {
   public:
    Block() = default;
    Block(std::shared_ptr<void> memory, size_t size) {
      kept_.push_back({std::move(memory), size});
      BySize one;
      by_size_ = one.extract(one.emplace(size, kept_.begin()));
    }
    // Takes an entry out of the containers.
    Block(Kept& kept, BySize& by_size, BySize::iterator entry) {
      kept_.splice(kept_.end(), kept, entry->second);
      by_size_ = by_size.extract(entry);
    }
    void Keep(Kept& kept, BySize& by_size) {
      kept.splice(kept.end(), kept_);
      by_size.insert(std::move(by_size_));
    }

    bool empty() const { return kept_.empty(); }
    void* data() const { return kept_.front().memory.get(); }
    size_t size() const { return kept_.front().size; }

   private:
    Kept kept_;
    BySize::node_type by_size_;
  };

  // A block in use, which returns to its pool at the end.
  class Loan {
   public:
    Loan(std::shared_ptr<Pool> pool, size_t wanted, Block block)
        : pool_(std::move(pool)), wanted_(wanted), block_(std::move(block)) {
      pool_->CountUsed(wanted_, block_.size());
    }
    ~Loan() { pool_->Return(wanted_, block_); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    const std::shared_ptr<Pool> pool_;
    const size_t wanted_;
    Block block_;
  };

  // The smallest kept block of `size` to 1.5 * `size` bytes; among equals the one used last, which
  // may still be in cache. Empty if there is none.
  Block FindKept(size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto smallest = by_size_.lower_bound(size);
    if (smallest == by_size_.end() || smallest->first > size + size / 2) return {};
    return Remove(std::prev(by_size_.upper_bound(smallest->first)));
  }

  // The lock is held.
  Block Remove(BySize::iterator entry) {
    Block block(kept_, by_size_, entry);
    kept_bytes_ -= block.size();
    return block;
  }

  // If the source is exhausted, frees all kept blocks, which may be the reason, and tries again.
  absl::StatusOr<std::shared_ptr<void>> AllocateNew(size_t size) {
    DropBeyondBound(size);
    absl::StatusOr<std::shared_ptr<void>> memory = source_->Allocate(size);
    if (!absl::IsResourceExhausted(memory.status())) return memory;
    DropKept();
    return source_->Allocate(size);
  }

  void DropKept() {
    const std::lock_guard<std::mutex> lock(mutex_);
    by_size_.clear();
    kept_.clear();
    kept_bytes_ = 0;
  }

  // Makes room for `size` more bytes.
  void DropBeyondBound(size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t bound = 2 * std::max(peak_bytes_, wanted_bytes_ + size);
    while (!kept_.empty() && kept_bytes_ + used_bytes_ + size > bound) DropOldest();
  }

  // The lock is held.
  void DropOldest() {
    auto [entry, end] = by_size_.equal_range(kept_.front().size);
    while (entry != end && entry->second != kept_.begin()) ++entry;
    Remove(entry);
  }

  void CountUsed(size_t wanted, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    used_bytes_ += size;
    wanted_bytes_ += wanted;
    peak_bytes_ = std::max(peak_bytes_, wanted_bytes_);
  }

  void Return(size_t wanted, Block& block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    used_bytes_ -= block.size();
    wanted_bytes_ -= wanted;
    kept_bytes_ += block.size();
    block.Keep(kept_, by_size_);
    while (kept_bytes_ + used_bytes_ > 2 * peak_bytes_) DropOldest();
  }

  const std::shared_ptr<Allocator> source_;
  const std::shared_ptr<FreeList> loans_ = std::make_shared<FreeList>();
  // Guards all that follows.
  mutable std::mutex mutex_;
  Kept kept_;
  BySize by_size_;
  size_t kept_bytes_ = 0;
  // Bytes of the blocks in use; bytes requested for them, which may be fewer; and the most bytes
  // requested at once.
  size_t used_bytes_ = 0;
  size_t wanted_bytes_ = 0;
  size_t peak_bytes_ = 0;
};

PoolAllocator::PoolAllocator(std::shared_ptr<Allocator> source)
    : pool_(std::make_shared<Pool>(std::move(source))),
      tiny_(std::make_shared<FreeList>()),
      small_(std::make_shared<FreeList>()) {}

PoolAllocator::PoolAllocator(Allocator& source)
    : PoolAllocator(std::shared_ptr<Allocator>(std::shared_ptr<void>(), &source)) {}

absl::StatusOr<std::shared_ptr<void>> PoolAllocator::Allocate(size_t bytes) {
  if (bytes <= sizeof(TinyBlock)) {
    return std::allocate_shared_for_overwrite<TinyBlock>(FromFreeList<TinyBlock>(tiny_));
  }
  if (bytes <= sizeof(SmallBlock)) {
    return std::allocate_shared_for_overwrite<SmallBlock>(FromFreeList<SmallBlock>(small_));
  }
  return pool_->Take(bytes);
}

size_t PoolAllocator::bytes() const { return pool_->bytes(); }
size_t PoolAllocator::kept_bytes() const { return pool_->kept_bytes(); }
size_t PoolAllocator::peak_bytes() const { return pool_->peak_bytes(); }

}  // namespace attnrun::exec
