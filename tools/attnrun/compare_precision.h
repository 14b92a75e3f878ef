// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_COMPARE_PRECISION_H_
#define ATTNRUN_TOOLS_ATTNRUN_COMPARE_PRECISION_H_

#include "absl/status/statusor.h"
#include "tools/attnrun/options.h"

namespace attnrun::cli {

// `compare` with a lower precision: reports its difference from float32. The exit status is kFine,
// unless a tolerance is given and an output exceeds it. Precondition: the precision is not float32,
// and the engine is not the reference.
absl::StatusOr<int> ComparePrecision(const Options& options);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_COMPARE_PRECISION_H_
