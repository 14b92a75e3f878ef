// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_READ_BANDWIDTH_H_
#define ATTNRUN_TOOLS_ATTNRUN_READ_BANDWIDTH_H_

#include <cstddef>

namespace attnrun::cli {

// Bytes per second when reading `bytes` bytes at `data` once, from cache or memory, on NumThreads()
// threads. One short measurement; repeat it next to the measurement that it is compared with.
double MeasureReadBandwidth(const void* data, size_t bytes);

// The best of some measurements of memory with `threads` threads: of twice the last cache's bytes,
// but at least 256 MB and at most a quarter of the memory. Takes some tenths of a second; 0 if
// there is no memory.
double MeasureMemoryBandwidth(int threads);
// The bytes that it reads, and those of the last cache.
size_t BandwidthBufferBytes();
size_t LastCacheBytes();

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_READ_BANDWIDTH_H_
