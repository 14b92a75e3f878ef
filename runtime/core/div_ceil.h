// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_DIV_CEIL_H_
#define ATTNRUN_CORE_DIV_CEIL_H_

#include <cstdint>

namespace attnrun {

// a / b, rounded up, for a >= 0 and b > 0.
constexpr int64_t DivCeil(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace attnrun

#endif  // ATTNRUN_CORE_DIV_CEIL_H_
