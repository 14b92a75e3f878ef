// SPDX-License-Identifier: Apache-2.0
#include "execution/cpus.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/control_group.h"
#include "core/cpu_set.h"

namespace attnrun::exec {
namespace {

// CPUs granted by the control groups' quotas, rounded up.
int QuotaCpus() {
  constexpr double kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(kMost, std::ceil(ReadControlGroupLimits().cpus)));
}

}  // namespace

int UsableCpus() { return std::max(1, std::min(CpuSet().count(), QuotaCpus())); }

}  // namespace attnrun::exec
