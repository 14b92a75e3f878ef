// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_CONTROL_GROUP_H_
#define ATTNRUN_CORE_CONTROL_GROUP_H_

#include <cstdint>
#include <limits>
#include <string>

namespace attnrun {

// The limits of Linux control groups.
struct ControlGroupLimits {
  // Seconds of CPU time per second.
  double cpus = std::numeric_limits<double>::infinity();
  // Bytes.
  uint64_t memory = std::numeric_limits<uint64_t>::max();
};

// The lowest limits of the process's own groups and of those around them, as far as they are
// mounted, in versions 1 and 2 (cgroups(7)). Files that cannot be read set no limit. `root` is put
// before /proc and before all mount points.
ControlGroupLimits ReadControlGroupLimits(const std::string& root = "");

}  // namespace attnrun

#endif  // ATTNRUN_CORE_CONTROL_GROUP_H_
