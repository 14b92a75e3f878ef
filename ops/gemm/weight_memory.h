// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_WEIGHT_MEMORY_H_
#define ATTNRUN_OPS_GEMM_WEIGHT_MEMORY_H_

#include "attnrun/tensor.h"

namespace attnrun::ops {

// Memory for packed weights: large ones lie side by side on huge pages, where the system has them.
// A product of few rows reads all weights once, and with pages of 4 KB, address look-ups take a
// third of the time that reading takes. The memory belongs to Allocator::Heap() and counts there.
// It goes back when all weights of a region of some megabytes are gone. Thread-safe.
Allocator& WeightMemory();

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_WEIGHT_MEMORY_H_
