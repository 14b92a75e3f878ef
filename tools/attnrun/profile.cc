// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/fma_peak.h"
#include "tools/attnrun/interrupt_guard.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/model_run.h"
#include "tools/attnrun/output_file.h"
#include "tools/attnrun/profile_table.h"
#include "tools/attnrun/progress.h"
#include "tools/attnrun/table.h"
#include "tools/attnrun/timeline.h"

namespace attnrun::cli {
namespace {

constexpr int kProfileRuns = 10;
constexpr int kProfileWarmup = 2;
// Nodes listed in the text report; --json lists all.
constexpr size_t kSlowest = 20;

struct ProfileReport {
  ProfileTable table;
  std::vector<ProfileEvent> last_run;
  // Mean time of a run.
  absl::Duration time;
  int runs = 0;
  int threads = 0;
  FmaPeak peak;
};

absl::StatusOr<ProfileReport> Measure(const Options& options) {
  ATTNRUN_ASSIGN_OR_RETURN(PreparedModel model, Prepare(options));
  ATTNRUN_RETURN_IF_ERROR(FirstRun(options, model).status());
  ProfileReport report;
  const int runs = options.runs.value_or(kProfileRuns);
  report.threads = model.session.threads();
  const InterruptGuard guard;
  Progress progress;
  for (int i = 0; i < options.warmup.value_or(kProfileWarmup); ++i) {
    progress.Show(absl::StrCat("warm-up run ", i + 1));
    ATTNRUN_RETURN_IF_ERROR(TimedRun(options, model).status());
  }
  while (report.runs < runs) {
    progress.Show(absl::StrCat("run ", report.runs + 1, " of ", runs));
    std::vector<ProfileEvent> events;
    RunOptions run_options;
    run_options.profile = &events;
    const absl::StatusOr<RunResult> result = TimedRun(options, model, run_options);
    if (WasInterrupted() && report.runs > 0) break;
    if (!result.ok()) return result.status();
    report.table.Add(events);
    report.last_run = std::move(events);
    report.time += result->time;
    ++report.runs;
  }
  report.time /= report.runs;
  report.peak = MeasureFmaPeak(report.threads);
  return report;
}

// The figures of a row. Rates are 0 if the kernel does not count its operations.
struct Figures {
  double milliseconds = 0;
  double share = 0;
  double gflops = 0;
  double share_of_peak = 0;
};

Figures FiguresOf(const ProfileRow& row, const ProfileReport& report) {
  Figures figures;
  const double seconds = absl::ToDoubleSeconds(row.time);
  figures.milliseconds = 1e3 * seconds;
  if (report.time > absl::ZeroDuration()) {
    figures.share = seconds / absl::ToDoubleSeconds(report.time);
  }
  if (row.flops > 0 && seconds > 0) {
    figures.gflops = row.flops / seconds / 1e9;
    figures.share_of_peak = figures.gflops / report.peak.gflops;
  }
  return figures;
}

std::string PrintRows(const std::vector<ProfileRow>& rows, size_t limit,
                      const ProfileReport& report) {
  Table table("rrlrrrl");
  table.Add({"ms", "share", "kernel", "calls", "GFLOP/s", "of peak", "op, node"});
  for (size_t i = 0; i < std::min(limit, rows.size()); ++i) {
    const ProfileRow& row = rows[i];
    const Figures figures = FiguresOf(row, report);
    const bool counted = figures.gflops > 0;
    table.Add({absl::StrFormat("%.3f", figures.milliseconds),
               absl::StrFormat("%.1f %%", 100 * figures.share), row.kernel,
               absl::StrFormat("%.4g", row.calls),
               counted ? absl::StrFormat("%.1f", figures.gflops) : "",
               counted ? absl::StrFormat("%.0f %%", 100 * figures.share_of_peak) : "",
               row.node.empty() ? row.op_type : absl::StrCat(row.op_type, "  ", row.node)});
  }
  return table.Text();
}

// The share of the run time that was spent in reference code.
double ReferenceShare(const ProfileReport& report) {
  double share = 0;
  for (const ProfileRow& row : report.table.ByOp()) {
    if (row.kernel == "reference") share += FiguresOf(row, report).share;
  }
  return share;
}

void PrintText(const ProfileReport& report) {
  const std::vector<ProfileRow> nodes = report.table.ByNode();
  std::cout << absl::StrFormat(
      "run %s (mean of %d, threads: %d), of which %s between nodes; %.1f %% in reference code\n"
      "peak %.0f GFLOP/s (%s, float32 multiply-add)\n\n",
      TimeText(report.time), report.runs, report.threads,
      TimeText(report.time - report.table.Total()), 100 * ReferenceShare(report),
      report.peak.gflops, report.peak.isa);
  const std::vector<ProfileRow> ops = report.table.ByOp();
  std::cout << PrintRows(ops, ops.size(), report) << "\nthe slowest of " << nodes.size()
            << " nodes\n"
            << PrintRows(nodes, kSlowest, report);
}

Json RowsJson(const std::vector<ProfileRow>& rows, const ProfileReport& report) {
  Json list = Json::array();
  for (const ProfileRow& row : rows) {
    const Figures figures = FiguresOf(row, report);
    Json entry = Json::object();
    if (!row.node.empty()) entry["node"] = row.node;
    entry["op"] = row.op_type;
    entry["kernel"] = row.kernel;
    entry["reference"] = row.kernel == "reference";
    entry["calls"] = row.calls;
    entry["ms"] = figures.milliseconds;
    entry["share"] = figures.share;
    if (figures.gflops > 0) {
      entry["gflops"] = figures.gflops;
      entry["share_of_peak"] = figures.share_of_peak;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void PrintReportJson(const ProfileReport& report) {
  PrintJson({{"run_ms", absl::ToDoubleMilliseconds(report.time)},
             {"nodes_ms", absl::ToDoubleMilliseconds(report.table.Total())},
             {"reference_share", ReferenceShare(report)},
             {"peak_gflops", report.peak.gflops},
             {"isa", report.peak.isa},
             {"runs", report.runs},
             {"threads", report.threads},
             {"ops", RowsJson(report.table.ByOp(), report)},
             {"nodes", RowsJson(report.table.ByNode(), report)}});
}

std::string Drawn(const ProfileReport& report, const std::string& model) {
  const std::string title = absl::StrFormat(
      "%s: %s a run (mean of %d, threads: %d), peak %.0f GFLOP/s (%s)", model,
      TimeText(report.time), report.runs, report.threads, report.peak.gflops, report.peak.isa);
  return TimelineSvg(report.table.InOrder(), report.peak.gflops, title);
}

}  // namespace

absl::StatusOr<int> Profile(const Options& options) {
  for (const std::string& file : {options.trace, options.svg}) {
    if (!file.empty()) ATTNRUN_RETURN_IF_ERROR(CheckWritable(file));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const ProfileReport report, Measure(options));
  if (!options.trace.empty()) {
    ATTNRUN_RETURN_IF_ERROR(WriteText(options.trace, JsonText(ChromeTrace(report.last_run))));
  }
  if (!options.svg.empty()) {
    ATTNRUN_RETURN_IF_ERROR(WriteText(options.svg, Drawn(report, options.model)));
  }
  if (options.json) {
    PrintReportJson(report);
  } else {
    PrintText(report);
  }
  return kFine;
}

}  // namespace attnrun::cli
