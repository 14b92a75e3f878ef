// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_SUMMARY_H_
#define ATTNRUN_TOOLS_ATTNRUN_SUMMARY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "tools/attnrun/json_fwd.h"

namespace attnrun::cli {

// A tensor in a few figures. A bool counts as 0 or 1, a complex number as two numbers.
struct Summary {
  // Over the finite elements, whose number is `finite`.
  double min = 0;
  double max = 0;
  double mean = 0;
  int64_t finite = 0;
  int64_t nan = 0;
  int64_t inf = 0;
};

// The summary of a tensor of any type except string.
absl::StatusOr<Summary> Summarize(const Tensor& tensor);

// "min -1  max 2  mean 0.5  3 nan"; for small tensors the elements themselves.
absl::StatusOr<std::string> SummaryText(const Tensor& tensor);

// {"name","type","shape","min","max","mean","nan","inf"}. Strings have no figures; min, max and
// mean are null if no element is finite.
absl::StatusOr<Json> SummaryJson(const std::string& name, const Tensor& tensor);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_SUMMARY_H_
