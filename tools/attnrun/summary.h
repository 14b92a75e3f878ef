// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_SUMMARY_H_
#define ATTNRUN_TOOLS_ATTNRUN_SUMMARY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "tools/attnrun/json.h"

namespace attnrun::cli {

// One tensor in a few figures; a bool counts as 0 or 1, a complex number as its two parts.
struct Summary {
  // Of the finite elements, of which there are `finite`.
  double min = 0;
  double max = 0;
  double mean = 0;
  int64_t finite = 0;
  int64_t nan = 0;
  int64_t inf = 0;
};

// Of a tensor of any type but string.
absl::StatusOr<Summary> Summarize(const Tensor& tensor);

// "min -1  max 2  mean 0.5  3 nan", or the elements themselves where there are few.
absl::StatusOr<std::string> SummaryText(const Tensor& tensor);

// {"name","type","shape","min","max","mean","nan","inf"}; the figures only for numbers, and null
// where no element is finite.
absl::StatusOr<Json> SummaryJson(const std::string& name, const Tensor& tensor);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_SUMMARY_H_
