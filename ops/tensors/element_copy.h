// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_ELEMENT_COPY_H_
#define ATTNRUN_OPS_TENSORS_ELEMENT_COPY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/interface/op_context.h"

// Helpers of the reference operators that move data: they copy one element at a time, of any type,
// bit by bit.
namespace attnrun::ops {

// to[j] = from[i]. Precondition: both dense and of the same type.
void CopyElement(const Tensor& from, int64_t i, Tensor& to, int64_t j);

// Makes output i a dense tensor whose elements are all zero, false or "".
absl::StatusOr<Tensor*> AllocateZeros(OpContext& context, int i, DataType type,
                                      absl::Span<const int64_t> shape);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_ELEMENT_COPY_H_
