// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_REDUCE_REDUCE_WALK_H_
#define ATTNRUN_OPS_REDUCE_REDUCE_WALK_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/shape.h"
#include "attnrun/tensor.h"

namespace attnrun::ops {

// How a kernel walks a dense tensor that it reduces. Adjacent axes of one kind count as one. The
// innermost is a run of adjacent elements: either they are reduced (run_is_reduced), or they belong
// to `run` adjacent outputs.
struct ReduceWalk {
  int64_t run = 1;
  bool run_is_reduced = false;
  // The other kept axes: they locate the first element of each output (or run of outputs).
  Shape kept_extents;
  Shape kept_strides;
  int64_t kept_count = 1;
  // Offsets (int64) of the runs that are reduced together.
  Tensor offsets;

  int64_t Begin(int64_t kept_index) const;
  // True if the tensor is rows [kept_count, run], each of which gives one output.
  bool IsRows() const {
    return run_is_reduced && kept_extents.size() <= 1 && offsets.num_elements() == 1;
  }
  absl::Span<const int64_t> Offsets() const {
    return {offsets.data<int64_t>(), static_cast<size_t>(offsets.num_elements())};
  }
};

// Runs of floats to reduce: `run` elements from begin + offsets[k] on, for each k.
struct FloatRuns {
  const float* begin;
  const int64_t* offsets;
  size_t num_offsets;
  size_t run;
};

// `kept`: the shape of x with 1 on the reduced axes. Precondition: x is not empty.
absl::StatusOr<ReduceWalk> MakeReduceWalk(const Shape& x, const Shape& kept, Allocator& allocator);

// Reduces runs of `run` elements: one from element `begin` + offset on for each of `offsets`.
// Writes output `output` if run_is_reduced, else `run` outputs from there on.
using ReduceRuns = absl::FunctionRef<void(int64_t begin, absl::Span<const int64_t> offsets,
                                          int64_t run, int64_t output)>;

// Calls `reduce` for all outputs, in parallel, with runs of outputs cut into pieces of at most
// `width`. The arguments of each call depend neither on the number of threads nor on other outputs.
void ForEachReduction(const ReduceWalk& walk, int64_t width, ReduceRuns reduce);

// Calls `reduce` for parts of all rows, in parallel. Precondition: walk.IsRows().
void ForEachRows(const ReduceWalk& walk,
                 absl::FunctionRef<void(int64_t begin, int64_t end)> reduce);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_REDUCE_REDUCE_WALK_H_
