// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEARCH_ORDER_H_
#define ATTNRUN_OPS_SEARCH_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

namespace attnrun::ops {

// Integers in the order of the elements, by which reference operators compare elements. Equal
// elements (0 and -0, NaN and NaN) have equal keys, and NaN is greater than every number. Takes all
// types of numbers, bool and strings; kInvalidArgument for complex numbers.
absl::StatusOr<std::vector<int64_t>> OrderKeys(const Tensor& tensor);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEARCH_ORDER_H_
