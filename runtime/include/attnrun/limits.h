// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LIMITS_H_
#define ATTNRUN_LIMITS_H_

#include <cstdint>
#include <limits>

#include "attnrun/export.h"

namespace attnrun {

// Bounds on a model and on the runs of a session. A load or a run that needs more ends with
// kResourceExhausted; the message says what was found against the limit. Numbers must not be
// negative.
struct Limits {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  // The first four bound a load. Subgraphs and calls of functions are nested at most 100 deep in
  // any case. Bytes of the model's file, and of each file of external data.
  int64_t file_bytes = int64_t{1} << 40;
  // Nodes in the file, those of subgraphs and functions included.
  int64_t nodes = 1'000'000;
  // Nodes that calls of the model's functions expand to, all together.
  int64_t function_nodes = 100'000;
  // Bytes that the optimizer may compute beforehand, all together. Beyond that the nodes stay,
  // which is no error. The bytes are limited to 256 MB and 16 times the initializers in any case.
  // Sparse tensors, which are loaded as dense ones, may take as many, and no more than 256 MB and
  // 16 times the file.
  int64_t folded_bytes = kNone;

  // The next three bound each run. Allocator::Heap() has a limit of its own for all: see
  // SetHeapLimit. Bytes of one tensor.
  int64_t tensor_bytes = kNone;
  // Bytes of all intermediate tensors and outputs at a time, as RunOptions::memory_limit.
  int64_t run_bytes = kNone;
  // How often bodies of If, Loop, Scan and SequenceMap run, all together.
  int64_t body_runs = 1'000'000'000;

  // Runs that wait for others. A run that would have to wait beside them ends with kUnavailable.
  int64_t waiting_runs = kNone;
};

// Bounds the bytes that Allocator::Heap() has given out at a time, for all sessions of the process;
// by default half of the memory that the process may use. Tensors that exist stay where a limit is
// lower than what they take. Thread-safe.
ATTNRUN_EXPORT void SetHeapLimit(int64_t bytes);
ATTNRUN_EXPORT int64_t HeapLimit();

}  // namespace attnrun

#endif  // ATTNRUN_LIMITS_H_
