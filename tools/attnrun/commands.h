// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_COMMANDS_H_
#define ATTNRUN_TOOLS_ATTNRUN_COMMANDS_H_

#include "absl/status/statusor.h"
#include "tools/attnrun/options.h"

namespace attnrun::cli {

// One function per command. Prints to standard output and returns the exit status; an error becomes
// kInvalid.
absl::StatusOr<int> Run(const Options& options);
absl::StatusOr<int> Inspect(const Options& options);
absl::StatusOr<int> ReportFusions(const Options& options);
absl::StatusOr<int> CompareEngines(const Options& options);
absl::StatusOr<int> Bench(const Options& options);
absl::StatusOr<int> Profile(const Options& options);
absl::StatusOr<int> GenerateTokens(const Options& options);
absl::StatusOr<int> ListOperators(const Options& options);
absl::StatusOr<int> ListPasses(const Options& options);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_COMMANDS_H_
