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

// CPUs' worth of time in the quota of the control group (cgroup v2 cpu.max: "quota period").
int QuotaCpus() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  // "max 100000" where there is no quota: the first number does not parse.
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
