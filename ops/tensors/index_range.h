// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_INDEX_RANGE_H_
#define ATTNRUN_OPS_TENSORS_INDEX_RANGE_H_

#include <cstdint>

namespace attnrun::ops {

// The indices [begin, end).
struct IndexRange {
  int64_t size() const { return end - begin; }

  int64_t begin = 0;
  int64_t end = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_INDEX_RANGE_H_
