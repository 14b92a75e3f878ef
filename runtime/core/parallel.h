// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_PARALLEL_H_
#define ATTNRUN_CORE_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace attnrun {

// Threads that ParallelFor uses when called from this thread: 1 inside its body. Set once per run.
void SetNumThreads(int threads);
int NumThreads();

// The most ranges per thread that ParallelFor makes. A thread works through its own ranges in order
// and then takes over ranges of others. Cores are not equally fast, since some run other work or
// have a busy neighbor; with one range each, all would wait for the slowest.
inline constexpr int kRangesPerThread = 4;

// The number of ranges that ParallelFor makes. Precondition: count > 0.
int64_t NumRanges(int64_t count, int64_t grain);

// Calls body(begin, end) on disjoint ranges that cover [0, count), on up to NumThreads() threads.
// The ranges are of nearly equal size, about `grain` indices or more. Runs inline if count <=
// grain, and inside another body. The result for an index must not depend on the split, so that any
// number of threads gives the same bits.
void ParallelFor(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_PARALLEL_H_
