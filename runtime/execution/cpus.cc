// SPDX-License-Identifier: Apache-2.0
#include "execution/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/control_group.h"

namespace attnrun::exec {
namespace {

// CPUs granted by the control groups' quotas, rounded up.
int QuotaCpus() {
  constexpr double kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(kMost, std::ceil(ReadControlGroupLimits().cpus)));
}

}  // namespace

int UsableCpus() {
  cpu_set_t set;
  const int affine = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, std::min(affine, QuotaCpus()));
}

}  // namespace attnrun::exec
