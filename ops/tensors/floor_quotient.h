// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_FLOOR_QUOTIENT_H_
#define ATTNRUN_OPS_TENSORS_FLOOR_QUOTIENT_H_

#include <cstdint>

#include "graph/symbolic.h"

namespace attnrun::ops {

// a / b rounded down, for `a` that is at least 0 in every run and b above 0. Multiples of b in the
// constant term of `a` are moved out of the quotient, as far as the rest is known to stay at least
// 0, so that equal quotients have equal expressions.
SymInt FloorQuotient(const SymInt& a, int64_t b);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_FLOOR_QUOTIENT_H_
