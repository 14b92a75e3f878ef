// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_PARALLEL_H_
#define ATTNRUN_CORE_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace attnrun {

// Threads that ParallelFor uses when called from this thread. Set once per run.
void SetNumThreads(int threads);
int NumThreads();

// The most ranges that ParallelFor makes for each of several threads, which takes them in order and
// then helps others: the cores of a machine are not equally fast, as some have other work, or a
// busy neighbor. With one range each, all would wait for the slowest.
inline constexpr int kRangesPerThread = 4;

// How many ranges ParallelFor makes. Precondition: count > 0.
int64_t NumRanges(int64_t count, int64_t grain);

// Calls body(begin, end) on disjoint ranges that cover [0, count), on up to NumThreads() threads;
// runs inline when count <= grain, and within another's body. Ranges are even, of about `grain`
// indices at least; what is computed for an index must not depend on the split (same bits for any
// number of threads).
void ParallelFor(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_PARALLEL_H_
