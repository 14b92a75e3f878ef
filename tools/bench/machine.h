// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_BENCH_MACHINE_H_
#define ATTNRUN_TOOLS_BENCH_MACHINE_H_

#include <cstddef>

namespace attnrun::bench {

// Bytes per second of reading `bytes` bytes at `data` once, from wherever they are, on NumThreads()
// threads: one short measurement, to be repeated beside what it is compared with.
double MeasureReadBandwidth(const void* data, size_t bytes);

}  // namespace attnrun::bench

#endif  // ATTNRUN_TOOLS_BENCH_MACHINE_H_
