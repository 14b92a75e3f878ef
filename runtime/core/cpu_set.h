// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_CPU_SET_H_
#define ATTNRUN_CORE_CPU_SET_H_

#include <pthread.h>
#include <sched.h>

namespace attnrun {

// The CPUs on which the thread that makes it may run: its affinity.
class CpuSet {
 public:
  CpuSet();

  // At least 1.
  int count() const;
  // Lets a thread run on these alone. Does nothing if they are not known, as on a machine of more
  // than 1,024.
  void Bind(pthread_t thread) const;

 private:
  cpu_set_t cpus_;
  bool is_known_;
};

}  // namespace attnrun

#endif  // ATTNRUN_CORE_CPU_SET_H_
