// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/weight_memory.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "core/div_ceil.h"
#include "core/huge_page.h"

namespace attnrun::ops {
namespace {

constexpr size_t kRegion = 8 * kHugePage;
// Smaller weights are in the caches, or few.
constexpr size_t kLeast = size_t{1} << 14;
constexpr size_t kAlignment = 64;

class WeightAllocator final : public Allocator {
 public:
  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    // The limit of the heap is far below.
    constexpr size_t kMost = size_t{1} << 48;
    if (bytes < kLeast || bytes > kMost) return Heap().Allocate(bytes);
    const size_t rounded = DivCeil(bytes, kAlignment) * kAlignment;
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<void> region = region_.lock();
    if (region == nullptr || rounded > static_cast<size_t>(end_ - next_)) region = Open(rounded);
    // No room for a region, but perhaps for this weight.
    if (region == nullptr) return Heap().Allocate(bytes);
    uint8_t* const data = next_;
    next_ += rounded;
    return std::shared_ptr<void>(std::move(region), data);
  }

 private:
  // Begins a region with room for this many bytes; null if the heap is exhausted.
  std::shared_ptr<void> Open(size_t bytes) {
    const size_t size = DivCeil(std::max(bytes, kRegion), kHugePage) * kHugePage;
    absl::StatusOr<std::shared_ptr<void>> memory = Heap().Allocate(size);
    if (!memory.ok()) return nullptr;
    next_ = static_cast<uint8_t*>(memory->get());
    end_ = next_ + size;
    region_ = *memory;
    return *std::move(memory);
  }

  std::mutex mutex_;
  // The region that is being filled, if any of its weights is left, and the part of it that is
  // free.
  std::weak_ptr<void> region_;
  uint8_t* next_ = nullptr;
  uint8_t* end_ = nullptr;
};

}  // namespace

Allocator& WeightMemory() {
  // Never destroyed, because weights may outlive static destruction.
  static auto* const memory = new WeightAllocator;
  return *memory;
}

}  // namespace attnrun::ops
