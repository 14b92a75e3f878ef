// SPDX-License-Identifier: Apache-2.0
#include "core/cpu_set.h"

#include <algorithm>

namespace attnrun {

CpuSet::CpuSet() : is_known_(sched_getaffinity(0, sizeof(cpus_), &cpus_) == 0) {}

int CpuSet::count() const { return is_known_ ? std::max(1, CPU_COUNT(&cpus_)) : 1; }

void CpuSet::Bind(pthread_t thread) const {
  if (is_known_) pthread_setaffinity_np(thread, sizeof(cpus_), &cpus_);
}

}  // namespace attnrun
