#ifndef ATTNRUN_CORE_PARALLEL_H_
#define ATTNRUN_CORE_PARALLEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace attnrun {

// Threads that ParallelFor and oneDNN use when called from this thread. Set once per run.
void SetNumThreads(int threads);
int NumThreads();

// Calls body(begin, end) on disjoint ranges that cover [0, count), on up to NumThreads() threads of
// the OpenMP team that oneDNN shares; runs inline when count <= grain. Ranges are split evenly;
// what is computed for an index must not depend on the split (same bits for any number of threads).
void ParallelFor(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_PARALLEL_H_
