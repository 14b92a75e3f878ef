// SPDX-License-Identifier: Apache-2.0
#include "execution/limited_allocator.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace attnrun::exec {

LimitedAllocator::LimitedAllocator(Allocator& source, int64_t limit, int64_t tensor_limit)
    : source_(source),
      limit_(limit),
      tensor_limit_(tensor_limit),
      used_(std::make_shared<std::atomic<int64_t>>(0)) {}

absl::StatusOr<std::shared_ptr<void>> LimitedAllocator::Allocate(size_t bytes) {
  if (bytes > static_cast<size_t>(tensor_limit_)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a tensor of ", bytes, " bytes exceeds the limit of ", tensor_limit_, " for each tensor"));
  }
  const auto size = static_cast<int64_t>(bytes);
  if (const int64_t before = used_->fetch_add(size); size > limit_ - before) {
    *used_ -= size;
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor of ", bytes, " bytes does not fit: ", before,
                     " of the run's limit of ", limit_, " bytes are in use"));
  }
  absl::StatusOr<std::shared_ptr<void>> block = source_.Allocate(bytes);
  if (!block.ok()) {
    *used_ -= size;
    return block;
  }
  void* data = block->get();
  return std::shared_ptr<void>(data,
                               [size, used = used_, block = *std::move(block)](void*) mutable {
                                 block.reset();
                                 *used -= size;
                               });
}

}  // namespace attnrun::exec
