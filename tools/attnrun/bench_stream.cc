// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "tools/attnrun/bench_modes.h"
#include "tools/attnrun/interrupt_guard.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/latency.h"
#include "tools/attnrun/progress.h"

namespace attnrun::cli {
namespace {

constexpr int kRequests = 200;
// Repeated runs right after a request, so that other load on the machine affects both alike.
constexpr int kRepeats = 3;

struct Report {
  // Time of a request over the median of its repeats; sorted.
  std::vector<double> ratios;
  // Peak memory after each of the two passes over the same requests.
  double first_pass_mb = 0;
  double second_pass_mb = 0;
};

double PercentileOf(const std::vector<double>& sorted, double percent) {
  return sorted[static_cast<size_t>(percent / 100 * static_cast<double>(sorted.size() - 1))];
}

absl::StatusOr<double> TimeRatio(const Options& options, const PreparedModel& model) {
  ATTNRUN_ASSIGN_OR_RETURN(const RunResult request, TimedRun(options, model));
  std::vector<absl::Duration> repeats;
  for (int i = 0; i < kRepeats; ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(const RunResult repeat, TimedRun(options, model));
    repeats.push_back(repeat.time);
  }
  return absl::FDivDuration(request.time, Percentile(repeats, 50));
}

// Runs one request per extent, in this order; returns the ratios.
absl::StatusOr<std::vector<double>> RunPass(const Options& options,
                                            const std::vector<int64_t>& extents,
                                            PreparedModel& model) {
  Progress progress;
  int request = 0;
  return MeasureEach(extents, [&](int64_t extent) -> absl::StatusOr<double> {
    progress.Show(absl::StrCat("request ", ++request, " of ", extents.size()));
    ATTNRUN_RETURN_IF_ERROR(SetExtent(options, options.stream->dim, extent, model));
    return TimeRatio(options, model);
  });
}

absl::StatusOr<Report> Measure(const Options& options, PreparedModel& model) {
  std::mt19937_64 generator(options.inputs.seed.value_or(0));
  std::uniform_int_distribution<int64_t> draw(options.stream->low, options.stream->high);
  std::vector<int64_t> extents(options.runs.value_or(kRequests));
  for (int64_t& extent : extents) extent = draw(generator);
  Report report;
  ATTNRUN_ASSIGN_OR_RETURN(report.ratios, RunPass(options, extents, model));
  report.first_pass_mb = PeakMemoryMb();
  if (!WasInterrupted()) ATTNRUN_RETURN_IF_ERROR(RunPass(options, extents, model).status());
  report.second_pass_mb = PeakMemoryMb();
  std::sort(report.ratios.begin(), report.ratios.end());
  return report;
}

void PrintText(const Options& options, const Report& report) {
  const Stream& stream = *options.stream;
  std::cout << absl::StrFormat(
      "%d requests of %s %d to %d; ratio of a request's time to repeated runs of that length\n"
      "ratio        p50 %.3f  p90 %.3f  p99 %.3f  max %.3f\n"
      "peak memory  %.1f MB after these, %.1f MB after the same requests again\n",
      report.ratios.size(), stream.dim, stream.low, stream.high, PercentileOf(report.ratios, 50),
      PercentileOf(report.ratios, 90), PercentileOf(report.ratios, 99), report.ratios.back(),
      report.first_pass_mb, report.second_pass_mb);
}

Json ToJson(const Report& report) {
  return {{"requests", report.ratios.size()},
          {"ratio",
           {{"p50", PercentileOf(report.ratios, 50)},
            {"p90", PercentileOf(report.ratios, 90)},
            {"p99", PercentileOf(report.ratios, 99)},
            {"max", report.ratios.back()}}},
          {"peak_rss_mb", {report.first_pass_mb, report.second_pass_mb}}};
}

}  // namespace

absl::Status BenchStream(const Options& options, PreparedModel& model) {
  ATTNRUN_ASSIGN_OR_RETURN(const Report report, Measure(options, model));
  if (options.json) {
    PrintJson(ToJson(report));
  } else {
    PrintText(options, report);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::cli
