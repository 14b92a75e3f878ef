// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_BENCH_MODES_H_
#define ATTNRUN_TOOLS_ATTNRUN_BENCH_MODES_H_

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/attnrun/interrupt_guard.h"
#include "tools/attnrun/model_run.h"
#include "tools/attnrun/options.h"

namespace attnrun::cli {

// Runs the model on its inputs and returns the times, after warm-up runs. Makes --runs runs, or as
// many as fit into `time`, within bounds. Progress messages begin with `what`.
absl::StatusOr<std::vector<absl::Duration>> MeasureRuns(const Options& options,
                                                        const PreparedModel& model,
                                                        std::chrono::milliseconds time,
                                                        const std::string& what);

// Calls measure(item) for each item and returns what it measured; after Ctrl+C what it measured
// until then, if that is anything.
template <typename Item, typename Measure>
auto MeasureEach(const std::vector<Item>& items, Measure measure)
    -> absl::StatusOr<std::vector<typename decltype(measure(items[0]))::value_type>> {
  std::vector<typename decltype(measure(items[0]))::value_type> rows;
  for (const Item& item : items) {
    auto row = measure(item);
    if (WasInterrupted() && !row.ok() && !rows.empty()) break;
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
    if (WasInterrupted()) break;
  }
  return rows;
}

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
