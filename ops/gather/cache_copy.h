// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_CACHE_COPY_H_
#define ATTNRUN_OPS_GATHER_CACHE_COPY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/journal.h"
#include "ops/interface/op_context.h"

namespace attnrun::ops {

// Output 0 of an operator that gives input 0 with some elements overwritten. A static cache of a
// state is overwritten in place.
class CacheCopy {
 public:
  // Makes the output, so far equal to input 0, which must be dense. Errors as in AllocateOutput.
  static absl::StatusOr<CacheCopy> Make(OpContext& context);

  char* data() const { return data_; }

  // To be called before these bytes of the output are overwritten, on one thread.
  void Overwrite(int64_t offset, int64_t bytes) const {
    if (journal_ != nullptr) journal_->Save(offset, bytes);
  }
  // True if Overwrite need not be called.
  bool is_copy() const { return journal_ == nullptr; }

 private:
  CacheCopy(char* data, Journal* journal) : data_(data), journal_(journal) {}

  char* data_;
  Journal* journal_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_CACHE_COPY_H_
