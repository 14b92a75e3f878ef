// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce_walk.h"

#include <algorithm>

#include "core/parallel.h"
#include "core/status.h"
#include "core/strided.h"

namespace attnrun::ops {
namespace {

constexpr int64_t kElementsPerThread = 16384;

// Extents with their strides; true for those that are reduced. Adjacent axes of one kind are
// merged.
struct Axes {
  Shape extents;
  Shape strides;
  absl::InlinedVector<bool, 6> reduced;
};

Axes Merge(const Shape& x, const Shape& kept) {
  const Shape dense = DenseStrides(x);
  Axes axes;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 1) continue;
    const bool reduced = kept[i] != x[i];
    if (axes.extents.empty() || axes.reduced.back() != reduced) {
      axes.extents.push_back(x[i]);
      axes.strides.push_back(dense[i]);
      axes.reduced.push_back(reduced);
    } else {
      axes.extents.back() *= x[i];
      axes.strides.back() = dense[i];
    }
  }
  return axes;
}

}  // namespace

int64_t ReduceWalk::Begin(int64_t kept_index) const {
  int64_t begin = 0;
  for (size_t axis = kept_extents.size(); axis-- > 0;) {
    begin += kept_index % kept_extents[axis] * kept_strides[axis];
    kept_index /= kept_extents[axis];
  }
  return begin;
}

absl::StatusOr<ReduceWalk> MakeReduceWalk(const Shape& x, const Shape& kept, Allocator& allocator) {
  Axes axes = Merge(x, kept);
  ReduceWalk walk;
  if (!axes.extents.empty()) {
    walk.run = axes.extents.back();
    walk.run_is_reduced = axes.reduced.back();
    axes.extents.pop_back();
  }
  Shape extents;
  Shape strides;
  for (size_t i = 0; i < axes.extents.size(); ++i) {
    (axes.reduced[i] ? extents : walk.kept_extents).push_back(axes.extents[i]);
    (axes.reduced[i] ? strides : walk.kept_strides).push_back(axes.strides[i]);
    if (!axes.reduced[i]) walk.kept_count *= axes.extents[i];
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(extents));
  ATTNRUN_ASSIGN_OR_RETURN(walk.offsets, Tensor::Allocate(DataType::kInt64, {count}, allocator));
  auto* offset = walk.offsets.mutable_data<int64_t>();
  ForEachOffset(extents, strides, [&](int64_t value) { *offset++ = value; });
  return walk;
}

void ForEachReduction(const ReduceWalk& walk, int64_t width, ReduceRuns reduce) {
  const absl::Span<const int64_t> offsets = walk.Offsets();
  const int64_t pieces = walk.run_is_reduced ? 1 : (walk.run + width - 1) / width;
  const int64_t elements = static_cast<int64_t>(offsets.size()) *
                           (walk.run_is_reduced ? walk.run : std::min(walk.run, width));
  ParallelFor(walk.kept_count * pieces, kElementsPerThread / elements + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t first = walk.Begin(i / pieces);
                  if (walk.run_is_reduced) {
                    reduce(first, offsets, walk.run, i);
                    continue;
                  }
                  const int64_t column = i % pieces * width;
                  reduce(first + column, offsets, std::min(width, walk.run - column),
                         i / pieces * walk.run + column);
                }
              });
}

void ForEachRows(const ReduceWalk& walk,
                 absl::FunctionRef<void(int64_t begin, int64_t end)> reduce) {
  ParallelFor(walk.kept_count, kElementsPerThread / walk.run + 1, reduce);
}

}  // namespace attnrun::ops
