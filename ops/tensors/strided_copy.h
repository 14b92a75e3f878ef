// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_STRIDED_COPY_H_
#define ATTNRUN_OPS_TENSORS_STRIDED_COPY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attnrun/tensor.h"

// Copies for the kernels that move data.
namespace attnrun::ops {

// True for the element types that kernels move as bytes: neither strings nor packed types.
bool MovesAsBytes(DataType type);

// The strides of a tensor, dense or not, in elements.
Shape StridesOf(const Tensor& tensor);

// Copies a box of elements of `width` bytes (1, 2, 4, 8 or 16). Strides are in elements; those of
// the source may be 0 or negative. The places written must overlap neither each other nor the
// source. Runs on several threads where that pays.
void CopyStrided(int width, absl::Span<const int64_t> extents, const void* source,
                 absl::Span<const int64_t> source_strides, void* target,
                 absl::Span<const int64_t> target_strides);

// memcpy on several threads where that pays.
void CopyBytes(void* target, const void* source, int64_t bytes);

// Writes `count` elements of `width` bytes (1, 2, 4, 8 or 16), each a copy of `element`.
void FillElements(int width, void* target, int64_t count, const void* element);

// The least number of bytes per thread: below it, starting threads costs more than it saves.
inline constexpr int64_t kBytesPerThread = 128 << 10;

// The grain for ParallelFor over items of `bytes` bytes each.
inline int64_t GrainOf(int64_t bytes) { return kBytesPerThread / (bytes > 0 ? bytes : 1) + 1; }

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_STRIDED_COPY_H_
