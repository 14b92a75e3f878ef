// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_FLOOR_QUOTIENT_H_
#define ATTNRUN_OPS_TENSORS_FLOOR_QUOTIENT_H_

#include <cstdint>

#include "graph/symbolic.h"

namespace attnrun::ops {

// a / b rounded down, where `a` is at least 0 in every run, and b a number above 0. Whole multiples
// of b are added to `a`, or taken out as far as they are there: quotients that are the same are
// then seen to be.
SymInt FloorQuotient(const SymInt& a, int64_t b);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_FLOOR_QUOTIENT_H_
