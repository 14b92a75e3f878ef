// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_REGION_H_
#define ATTNRUN_CORE_REGION_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

namespace attnrun {

// A block of the heap's memory that is handed out in parts, side by side, so that many tensors of
// less than a huge page lie on huge pages (see kHugePage). Parts for which it has no room come from
// the heap. The parts may outlive the region, and keep the block alive. Not thread-safe.
class Region final : public Allocator {
 public:
  explicit Region(size_t bytes) : size_(bytes) {}

  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override;

  // A part takes a multiple of these.
  static constexpr size_t kAlignment = 64;

 private:
  const size_t size_;
  // Null before the first part.
  std::shared_ptr<void> block_;
  uint8_t* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace attnrun

#endif  // ATTNRUN_CORE_REGION_H_
