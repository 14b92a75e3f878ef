// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_HEAD_COUNT_H_
#define ATTNRUN_OPS_CONTRIB_HEAD_COUNT_H_

#include <cstdint>

namespace attnrun::ops {

// True if a node may have this many heads. Sums of a few such counts fit in 64 bits.
constexpr bool IsHeadCount(int64_t count) { return count >= 1 && count <= int64_t{1} << 31; }

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_HEAD_COUNT_H_
