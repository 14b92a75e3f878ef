// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "tools/attnrun/bench_modes.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/interrupt_guard.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/latency.h"
#include "tools/attnrun/model_run.h"
#include "tools/attnrun/progress.h"

namespace attnrun::cli {
namespace {

constexpr int kWarmup = 5;
// Without --runs: as many runs as fit into kTime, within these bounds.
constexpr int kLeastRuns = 10;
constexpr int kMostRuns = 100;
constexpr std::chrono::seconds kTime(10);

Json ToJson(const PreparedModel& model, const std::vector<absl::Duration>& times) {
  return {{"latency_ms",
           {{"min", PercentileMs(times, 0)},
            {"p50", PercentileMs(times, 50)},
            {"p90", PercentileMs(times, 90)},
            {"p99", PercentileMs(times, 99)}}},
          {"load_ms", absl::ToDoubleMilliseconds(model.load_time)},
          {"peak_rss_mb", PeakMemoryMb()},
          {"runs", times.size()},
          {"threads", model.session.threads()}};
}

void PrintText(const Options& options, const PreparedModel& model,
               const std::vector<absl::Duration>& times) {
  std::cout << absl::StrFormat(
      "latency      min %.3f ms  p50 %.3f ms  p90 %.3f ms  p99 %.3f ms\n"
      "load time    %.1f ms\npeak memory  %.1f MB\nruns         %d (%s, threads: %d)\n",
      PercentileMs(times, 0), PercentileMs(times, 50), PercentileMs(times, 90),
      PercentileMs(times, 99), absl::ToDoubleMilliseconds(model.load_time), PeakMemoryMb(),
      times.size(), EngineName(options.session.engine), model.session.threads());
}

absl::Status BenchOnce(const Options& options, PreparedModel& model) {
  ATTNRUN_RETURN_IF_ERROR(FirstRun(options, model).status());
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<absl::Duration> times,
                           MeasureRuns(options, model, kTime, ""));
  if (options.json) {
    PrintJson(ToJson(model, times));
  } else {
    PrintText(options, model, times);
  }
  return absl::OkStatus();
}

absl::Status BenchAlone(const Options& options, PreparedModel& model) {
  if (options.sweep.has_value()) return BenchSweep(options, model);
  if (options.stream.has_value()) return BenchStream(options, model);
  return BenchOnce(options, model);
}

}  // namespace

absl::StatusOr<std::vector<absl::Duration>> MeasureRuns(const Options& options,
                                                        const PreparedModel& model,
                                                        std::chrono::milliseconds time,
                                                        const std::string& what) {
  Progress progress;
  for (int i = 0; i < options.warmup.value_or(kWarmup); ++i) {
    progress.Show(absl::StrCat(what, "warm-up run ", i + 1));
    ATTNRUN_RETURN_IF_ERROR(TimedRun(options, model).status());
  }
  const auto end = std::chrono::steady_clock::now() + time;
  const auto enough = [&](int runs) {
    if (options.runs.has_value()) return runs >= *options.runs;
    return runs >= kMostRuns || (runs >= kLeastRuns && std::chrono::steady_clock::now() > end);
  };
  std::vector<absl::Duration> times;
  while (!enough(static_cast<int>(times.size()))) {
    progress.Show(absl::StrCat(what, "run ", times.size() + 1));
    const absl::StatusOr<RunResult> result = TimedRun(options, model);
    if (WasInterrupted() && !times.empty()) break;
    if (!result.ok()) return result.status();
    times.push_back(result->time);
  }
  return times;
}

double PercentileMs(const std::vector<absl::Duration>& times, double percent) {
  return absl::ToDoubleMilliseconds(Percentile(times, percent));
}

absl::StatusOr<int> Bench(const Options& options) {
  if (options.generation_bench.has_value()) {
    ATTNRUN_RETURN_IF_ERROR(BenchGenerate(options));
    return kFine;
  }
  ATTNRUN_ASSIGN_OR_RETURN(PreparedModel model, Prepare(options));
  const InterruptGuard guard;
  if (!options.callers.empty()) return BenchCallers(options, model);
  ATTNRUN_RETURN_IF_ERROR(BenchAlone(options, model));
  return kFine;
}

}  // namespace attnrun::cli
