// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/cache_copy.h"

#include "core/status.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {

absl::StatusOr<CacheCopy> CacheCopy::Make(OpContext& context) {
  const Tensor& cache = context.input(0);
  if (Journal* const journal = JournalOf(cache)) {
    context.SetOutput(0, cache);
    return CacheCopy(const_cast<char*>(cache.data<char>()), journal);
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, cache.type(), cache.shape(), {0}));
  if (y->raw() != cache.raw()) {
    CopyBytes(y->mutable_raw(), cache.raw(), static_cast<int64_t>(cache.byte_size()));
  }
  return CacheCopy(y->mutable_data<char>(), nullptr);
}

}  // namespace attnrun::ops
