// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_EXECUTION_CPUS_H_
#define ATTNRUN_EXECUTION_CPUS_H_

namespace attnrun::exec {

// The number of CPUs that this process may use: its affinity mask, limited by the control groups'
// CPU quota (rounded up); at least 1.
int UsableCpus();

}  // namespace attnrun::exec

#endif  // ATTNRUN_EXECUTION_CPUS_H_
