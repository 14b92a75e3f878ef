// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_CUT_EXTENTS_H_
#define ATTNRUN_OPS_INTERFACE_CUT_EXTENTS_H_

#include <vector>

#include "graph/symbolic.h"

namespace attnrun::ops {

// By how much axes were longer than those of another tensor before they were cut to these, such as
// 40 - seq of min(40, seq) beside seq, where both tensors are broadcast with each other: at least 0
// in every run, as what was cut shorter is refused.
std::vector<SymInt> RoomsOfCuts(const std::vector<SymInt>& cut, const std::vector<SymInt>& whole);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_CUT_EXTENTS_H_
