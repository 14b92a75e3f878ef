// SPDX-License-Identifier: Apache-2.0
#include "core/parallel.h"

#include <algorithm>
#include <thread>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/thread_context.h"
#include "core/thread_group.h"

namespace attnrun {

// ThreadGroup counts pieces in 16 bits.
void SetNumThreads(int threads) {
  CurrentThread().num_threads = std::clamp(threads, 1, 0xFFFF / kRangesPerThread);
}

int NumThreads() {
  if (CurrentThread().in_group) return 1;
  const int& threads = CurrentThread().num_threads;
  if (threads == 0) SetNumThreads(static_cast<int>(std::thread::hardware_concurrency()));
  return threads;
}

int64_t NumRanges(int64_t count, int64_t grain) {
  if (NumThreads() == 1) return 1;
  const int64_t worthwhile = DivCeil(count, std::max<int64_t>(grain, 1));
  if (worthwhile <= NumThreads()) return std::max<int64_t>(worthwhile, 1);
  // A multiple of the number of threads; otherwise threads of equal speed would wait for one with
  // an extra range.
  return std::min<int64_t>(worthwhile / NumThreads(), kRangesPerThread) * NumThreads();
}

void ParallelFor(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  const int64_t pieces = NumRanges(count, grain);
  if (pieces <= 1) {
    body(0, count);
    return;
  }
  Interrupt* const interrupt = CurrentThread().interrupt;
  const ThreadGroupLease group(NumThreads());
  group->Run(static_cast<int>(pieces), [&](int piece) {
    const InterruptScope scope(interrupt);
    body(count * piece / pieces, count * (piece + 1) / pieces);
  });
}

}  // namespace attnrun
