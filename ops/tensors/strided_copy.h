// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_STRIDED_COPY_H_
#define ATTNRUN_OPS_TENSORS_STRIDED_COPY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attnrun/tensor.h"

// The copying that the kernels which move data share.
namespace attnrun::ops {

// True for the element types that kernels move as bytes: not strings, not the packed types.
bool MovesAsBytes(DataType type);

// Strides of a tensor's elements, dense or not.
Shape StridesOf(const Tensor& tensor);

// Copies a box of elements of `width` bytes (1, 2, 4, 8 or 16). Strides are in elements; those of
// the source may be 0 or negative. The places written must not overlap each other or the source.
// Runs on several threads where that pays.
void CopyStrided(int width, absl::Span<const int64_t> extents, const void* source,
                 absl::Span<const int64_t> source_strides, void* target,
                 absl::Span<const int64_t> target_strides);

// memcpy on several threads where that pays.
void CopyBytes(void* target, const void* source, int64_t bytes);

// `count` elements of `width` bytes (1, 2, 4, 8 or 16), each with the value at `element`.
void FillElements(int width, void* target, int64_t count, const void* element);

// Bytes that one thread should move at least: below, starting a team costs more than it saves.
inline constexpr int64_t kBytesPerThread = 128 << 10;

// The grain for ParallelFor over items of `bytes` bytes each.
inline int64_t GrainOf(int64_t bytes) { return kBytesPerThread / (bytes > 0 ? bytes : 1) + 1; }

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_STRIDED_COPY_H_
