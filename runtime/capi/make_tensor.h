// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CAPI_MAKE_TENSOR_H_
#define ATTNRUN_CAPI_MAKE_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "attnrun/c.h"
#include "attnrun/tensor.h"

namespace attnrun::capi {

// A type and shape as C gives them. `strides` may be null.
struct RawLayout {
  attnrun_type type;
  size_t rank;
  const int64_t* shape;
  const int64_t* strides;
};

struct Layout {
  DataType type;
  Shape shape;
  // Empty: dense.
  Shape strides;
};

// kInvalidArgument unless it is a valid type, with at most 64 axes of extents that are at least 0.
absl::StatusOr<Layout> CheckLayout(const RawLayout& raw);

// See attnrun/c.h.
absl::StatusOr<Tensor> BorrowTensor(const RawLayout& raw, const void* data, size_t size);
absl::StatusOr<Tensor> BorrowMutableTensor(const RawLayout& raw, void* data, size_t size);
absl::StatusOr<Tensor> CopyStrings(const RawLayout& raw, const char* const* strings,
                                   const size_t* lengths, size_t count);

}  // namespace attnrun::capi

#endif  // ATTNRUN_CAPI_MAKE_TENSOR_H_
