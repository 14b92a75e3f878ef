// SPDX-License-Identifier: Apache-2.0
#include <sys/sysinfo.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "attnrun/limits.h"
#include "attnrun/tensor.h"
#include "core/control_group.h"

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
    constexpr size_t kAlignment = 64;
    const size_t limit = limit_.load();
    if (bytes > limit || used_.load() > limit - bytes) return Exhausted(bytes);
    // aligned_alloc needs a multiple of the alignment, and an empty tensor still needs an address.
    const size_t rounded = (bytes / kAlignment + 1) * kAlignment;
    void* data = std::aligned_alloc(kAlignment, rounded);
    if (data == nullptr) return Exhausted(bytes);
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
