// SPDX-License-Identifier: Apache-2.0
#include "core/region.h"

#include <algorithm>
#include <utility>

#include "core/div_ceil.h"
#include "core/huge_page.h"
#include "core/status.h"

namespace attnrun {

absl::StatusOr<std::shared_ptr<void>> Region::Allocate(size_t bytes) {
  if (block_ == nullptr && size_ >= kHugePage) {
    ATTNRUN_ASSIGN_OR_RETURN(block_, Heap().Allocate(size_));
    next_ = static_cast<uint8_t*>(block_.get());
    left_ = size_;
  }
  if (bytes > left_) return Heap().Allocate(bytes);
  const size_t taken = std::min(DivCeil(bytes, kAlignment) * kAlignment, left_);
  left_ -= taken;
  return std::shared_ptr<void>(block_, std::exchange(next_, next_ + taken));
}

}  // namespace attnrun
