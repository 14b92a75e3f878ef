// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_CUT_EXTENTS_H_
#define ATTNRUN_OPS_INTERFACE_CUT_EXTENTS_H_

#include <vector>

#include "graph/symbolic.h"

namespace attnrun::ops {

// For dims min(C, s) broadcast against s: returns C - s, which must be >= 0 in any run that
// succeeds. For example 40 - seq for a table of 40 positions cut to min(40, seq).
std::vector<SymInt> RoomsOfCuts(const std::vector<SymInt>& cut, const std::vector<SymInt>& whole);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_CUT_EXTENTS_H_
