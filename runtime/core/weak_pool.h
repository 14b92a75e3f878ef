// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_WEAK_POOL_H_
#define ATTNRUN_CORE_WEAK_POOL_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/fork.h"

namespace attnrun {

// The live objects of one type in this process, for sharing equal ones instead of making them
// twice. Thread-safe.
template <typename T>
class WeakPool {
 public:
  static WeakPool& Get() { return PerProcess<WeakPool>(); }

  // Returns a live object with this fingerprint that `equal` accepts, otherwise the result of
  // `make`. The lock is held during make(), so that two callers do not make the same object twice.
  absl::StatusOr<std::shared_ptr<const T>> FindOrMake(
      size_t fingerprint, absl::FunctionRef<bool(const T&)> equal,
      absl::FunctionRef<absl::StatusOr<std::shared_ptr<const T>>()> make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (8 * added_ >= objects_.size()) DropExpired();
    const auto [begin, end] = objects_.equal_range(fingerprint);
    for (auto candidate = begin; candidate != end; ++candidate) {
      std::shared_ptr<const T> object = candidate->second.lock();
      if (object != nullptr && equal(*object)) return object;
    }
    absl::StatusOr<std::shared_ptr<const T>> made = make();
    if (made.ok()) {
      objects_.emplace(fingerprint, *made);
      ++added_;
    }
    return made;
  }

 private:
  // Not called for each new object of many, which would take time quadratic in their number.
  void DropExpired() {
    std::erase_if(objects_, [](const auto& entry) { return entry.second.expired(); });
    added_ = 0;
  }

  std::mutex mutex_;
  // Since DropExpired.
  size_t added_ = 0;
  std::unordered_multimap<size_t, std::weak_ptr<const T>> objects_;
};

}  // namespace attnrun

#endif  // ATTNRUN_CORE_WEAK_POOL_H_
