// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_PADS_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_PADS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The number of elements that a Pad puts before each of the `rank` axes of its input, followed by
// the number behind each; nullopt if they are not known or a run would refuse them.
std::optional<std::vector<int64_t>> PadsOf(const Node& pad, int rank, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_PADS_H_
