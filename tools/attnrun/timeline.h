// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_TIMELINE_H_
#define ATTNRUN_TOOLS_ATTNRUN_TIMELINE_H_

#include <string>
#include <vector>

#include "tools/attnrun/profile_table.h"

namespace attnrun::cli {

// Draws where the time of a run goes, as SVG: one line per layer, and in it one bar per node of
// `nodes`, which are in order of execution. The length of a bar is the node's time; all lines have
// the same scale. The dark part of a bar's height is the share of `peak_gflops` (GFLOP/s, all
// threads) that the node reaches; the pale part is unused. Layers are found by the repetition of
// operators. Pointing at a bar shows the node's figures. `title` is the heading.
std::string TimelineSvg(const std::vector<ProfileRow>& nodes, double peak_gflops,
                        const std::string& title);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_TIMELINE_H_
