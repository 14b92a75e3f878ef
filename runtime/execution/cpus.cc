// SPDX-License-Identifier: Apache-2.0
#include "execution/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace attnrun::exec {
namespace {

// CPUs granted by the control group's quota, rounded up (cgroup v2 cpu.max: "quota period").
int QuotaCpus() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  // Without a quota the file says "max 100000", whose first word does not parse as a number.
  if (!(file >> quota >> period) || period <= 0) return std::numeric_limits<int>::max();
  return static_cast<int>(std::ceil(quota / period));
}

}  // namespace

int UsableCpus() {
  cpu_set_t set;
  const int affine = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, std::min(affine, QuotaCpus()));
}

}  // namespace attnrun::exec
