// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_START_THREAD_H_
#define ATTNRUN_CORE_START_THREAD_H_

#include <functional>
#include <thread>

#include "core/cpu_set.h"

namespace attnrun {

// Starts a thread that calls `body` on these CPUs; if null, on those of the calling thread. It
// bears the name "attnrun" and takes no signals of the process. Throws std::system_error if the
// system allows no more threads.
std::thread StartThread(const CpuSet* cpus, std::function<void()> body);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_START_THREAD_H_
