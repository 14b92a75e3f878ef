// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_BENCH_MODES_H_
#define ATTNRUN_TOOLS_ATTNRUN_BENCH_MODES_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/attnrun/model_run.h"
#include "tools/attnrun/options.h"

namespace attnrun::cli {

// Runs the model on its inputs and returns the times, after warm-up runs. Makes --runs runs, or as
// many as fit into `time`, within bounds. Progress messages begin with `what`.
absl::StatusOr<std::vector<absl::Duration>> MeasureRuns(const Options& options,
                                                        const PreparedModel& model,
                                                        std::chrono::milliseconds time,
                                                        const std::string& what);

double PercentileMs(const std::vector<absl::Duration>& times, double percent);

// Generates the model's inputs again, with this extent for a symbolic dimension.
absl::Status SetExtent(const Options& options, const std::string& dim, int64_t extent,
                       PreparedModel& model);

// `bench` with --sweep or --stream. Each prints its report.
absl::Status BenchSweep(const Options& options, PreparedModel& model);
absl::Status BenchStream(const Options& options, PreparedModel& model);

// `bench` with --callers. With --stream, too, each caller draws the extent of each of its requests,
// and outputs are compared with those of the same request alone. Returns the program's exit status:
// kComparisonFailed if a bit of any is another.
absl::StatusOr<int> BenchCallers(const Options& options, PreparedModel& model);

// `bench` with --generate, which loads a decoder by itself.
absl::Status BenchGenerate(const Options& options);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_BENCH_MODES_H_
