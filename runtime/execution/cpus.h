// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_CPUS_H_
#define ATTNRUN_EXECUTION_CPUS_H_

namespace attnrun::exec {

// CPUs this process may use: the affinity mask, cut down to the control group's CPU quota (rounded
// up); at least 1.
int UsableCpus();

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_CPUS_H_
