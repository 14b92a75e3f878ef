// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_FLOAT_ROWS_H_
#define ATTNRUN_OPS_TENSORS_FLOAT_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

// Kernels compute on float. These functions let a kernel take float16 and bfloat16, too, by
// converting a row at a time.
namespace attnrun::ops {

// True for float, float16 and bfloat16.
bool IsFloatOrHalf(DataType type);

// out[i] = in[begin + i], i < n. Precondition: IsFloatOrHalf(in.type()), dense.
void ReadFloats(const Tensor& in, int64_t begin, int64_t n, float* out);

// out[begin + i] = in[i], i < n, rounded to nearest even. Precondition: as ReadFloats.
void WriteFloats(const float* in, int64_t n, Tensor& out, int64_t begin);

// A dense float tensor with the elements of `in`: `in` itself where it is float.
absl::StatusOr<Tensor> AsFloat(const Tensor& in, Allocator& allocator);

// Calls body(begin, end, scratch) as ParallelFor does, with `scratch_floats` floats (aligned to 64
// bytes) that no other call uses at the same time. kResourceExhausted if there is no memory for
// them.
absl::Status ParallelForWithScratch(int64_t count, int64_t grain, int64_t scratch_floats,
                                    Allocator& allocator,
                                    absl::FunctionRef<void(int64_t, int64_t, float*)> body);

// Cuts x and y (same number of elements; IsFloatOrHalf, dense, maybe of different types, maybe the
// same bytes) into rows of `length` and calls body(row, in, out) for each, in parallel. `in` and
// `out` may be the same.
absl::Status ForEachFloatRow(const Tensor& x, int64_t length, Tensor& y, Allocator& allocator,
                             absl::FunctionRef<void(int64_t, const float*, float*)> body);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_FLOAT_ROWS_H_
