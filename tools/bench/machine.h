// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_BENCH_MACHINE_H_
#define ATTNRUN_TOOLS_BENCH_MACHINE_H_

#include <cstddef>

namespace attnrun::bench {

// Bytes per second when reading `bytes` bytes at `data` once, from cache or memory, on NumThreads()
// threads. One short measurement; repeat it next to the measurement that it is compared with.
double MeasureReadBandwidth(const void* data, size_t bytes);

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_MACHINE_H_
