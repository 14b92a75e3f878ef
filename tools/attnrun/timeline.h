// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_TIMELINE_H_
#define ATTNRUN_TOOLS_ATTNRUN_TIMELINE_H_

#include <string>
#include <vector>

#include "tools/attnrun/profile_table.h"

namespace attnrun::cli {

// Draws where a run's time goes, as SVG: a line per layer, a bar per node of `nodes` (in the order
// of execution), as long as the node takes, all lines on one scale. Of a bar's height the dark part
// is the share of `peak_gflops` (GFLOP/s, all threads) that the node reaches: what is pale is what
// the machine could still do. What layers are is told by the operators, which repeat. Pointing at a
// bar shows the node's figures. `title` stands above.
std::string TimelineSvg(const std::vector<ProfileRow>& nodes, double peak_gflops,
                        const std::string& title);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_TIMELINE_H_
