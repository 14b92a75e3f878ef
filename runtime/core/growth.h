// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_GROWTH_H_
#define ATTNRUN_CORE_GROWTH_H_

#include <cstdint>

namespace attnrun {

// The most bytes that a load may make of `given` ones (Limits::folded_bytes): a small file can
// describe a huge tensor.
constexpr int64_t MostBytesFrom(int64_t given) {
  constexpr int64_t kAlways = int64_t{256} << 20;
  constexpr int64_t kTimes = 16;
  return kAlways + kTimes * given;
}

}  // namespace attnrun

#endif  // ATTNRUN_CORE_GROWTH_H_
