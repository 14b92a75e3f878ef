#include "core/parallel.h"

#include <omp.h>

#include <algorithm>

#include "core/interrupt.h"

namespace attnrun {

void SetNumThreads(int threads) { omp_set_num_threads(std::max(threads, 1)); }
int NumThreads() { return omp_get_max_threads(); }

void ParallelFor(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  const int64_t pieces =
      std::min<int64_t>(NumThreads(), (count + grain - 1) / std::max<int64_t>(grain, 1));
  if (pieces <= 1 || omp_in_parallel() != 0) {
    body(0, count);
    return;
  }
  Interrupt* const interrupt = CurrentInterrupt();
#pragma omp parallel num_threads(static_cast<int>(pieces))
  {
    const InterruptScope scope(interrupt);
    const int64_t team = omp_get_num_threads();
    const int64_t me = omp_get_thread_num();
    const int64_t begin = count * me / team;
    const int64_t end = count * (me + 1) / team;
    if (begin < end) body(begin, end);
  }
}

}  // namespace attnrun
