// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attnrun/limits.h"
#include "attnrun/tensor.h"
#include "core/control_group.h"
#include "core/huge_page.h"

namespace attnrun {
namespace {

// The machine's memory or the control groups' limit, whichever is smaller, in bytes.
size_t UsableMemory() {
  struct sysinfo info;
  size_t bytes = size_t{1} << 34;
  if (sysinfo(&info) == 0) bytes = static_cast<size_t>(info.totalram) * info.mem_unit;
  return static_cast<size_t>(std::min<uint64_t>(bytes, ReadControlGroupLimits().memory));
}

class HeapAllocator final : public Allocator {
 public:
  explicit HeapAllocator(size_t limit) : limit_(limit) {}

  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    const size_t limit = limit_.load();
    if (bytes > limit || used_.load() > limit - bytes) return Exhausted(bytes);
    constexpr size_t kCacheLine = 64;
    const size_t alignment = bytes < kHugePage ? kCacheLine : kHugePage;
    // An empty tensor still needs an address.
    const size_t rounded = (bytes / kCacheLine + 1) * kCacheLine;
    void* data = nullptr;
    if (posix_memalign(&data, alignment, rounded) != 0) return Exhausted(bytes);
    // The rest behind the last whole huge page stays on small pages, so that no more memory is
    // taken than was asked for. Without huge pages the memory serves as well.
    if (bytes >= kHugePage) madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
    used_ += rounded;
    return std::shared_ptr<void>(data, [this, rounded](void* memory) {
      std::free(memory);
      used_ -= rounded;
    });
  }

  void SetLimit(size_t limit) { limit_ = limit; }
  size_t limit() const { return limit_; }

 private:
  absl::Status Exhausted(size_t bytes) const {
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor of ", bytes, " bytes does not fit: ", used_.load(),
                     " of the limit of ", limit_.load(), " bytes are in use"));
  }

  std::atomic<size_t> limit_;
  std::atomic<size_t> used_{0};
};

HeapAllocator& TheHeap() {
  // Never destroyed, because tensors may outlive static destruction.
  static auto* const heap = new HeapAllocator(UsableMemory() / 2);
  return *heap;
}

}  // namespace

Allocator& Allocator::Heap() { return TheHeap(); }

int64_t HeapLimit() { return static_cast<int64_t>(TheHeap().limit()); }

void SetHeapLimit(int64_t bytes) {
  TheHeap().SetLimit(static_cast<size_t>(std::max<int64_t>(bytes, 0)));
}

}  // namespace attnrun
