// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "tools/attnrun/bench_modes.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/table.h"

namespace attnrun::cli {
namespace {

constexpr std::chrono::seconds kTimePerRow(3);

// The measurements with one number of callers, over all of them.
struct CallersRow {
  int callers = 0;
  std::vector<absl::Duration> times;
  double runs_per_second = 0;
};

struct Caller {
  std::vector<absl::Duration> times;
  absl::Status status;
};

void Call(const Options& options, const PreparedModel& model, Caller& caller) {
  const auto end = std::chrono::steady_clock::now() + kTimePerRow;
  const auto enough = [&](size_t runs) {
    if (options.runs.has_value()) return runs >= static_cast<size_t>(*options.runs);
    return std::chrono::steady_clock::now() > end;
  };
  while (!enough(caller.times.size())) {
    const absl::StatusOr<RunResult> result = TimedRun(options, model);
    if (!result.ok()) {
      caller.status = result.status();
      return;
    }
    caller.times.push_back(result->time);
  }
}

absl::StatusOr<CallersRow> MeasureRow(const Options& options, const PreparedModel& model,
                                      int count) {
  std::vector<Caller> callers(count);
  std::vector<std::thread> threads;
  const auto begin = std::chrono::steady_clock::now();
  for (Caller& caller : callers) {
    threads.emplace_back([&] { Call(options, model, caller); });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  CallersRow row;
  row.callers = count;
  for (const Caller& caller : callers) {
    ATTNRUN_RETURN_IF_ERROR(caller.status);
    row.times.insert(row.times.end(), caller.times.begin(), caller.times.end());
  }
  row.runs_per_second = static_cast<double>(row.times.size()) / elapsed.count();
  return row;
}

void PrintText(const std::vector<CallersRow>& rows, int threads) {
  Table table("rrrrr");
  table.Add({"callers", "runs/s", "p50 ms", "p90 ms", "p99 ms"});
  for (const CallersRow& row : rows) {
    table.Add({absl::StrCat(row.callers), absl::StrFormat("%.2f", row.runs_per_second),
               absl::StrFormat("%.3f", PercentileMs(row.times, 50)),
               absl::StrFormat("%.3f", PercentileMs(row.times, 90)),
               absl::StrFormat("%.3f", PercentileMs(row.times, 99))});
  }
  std::cout << table.Text() << "threads per run: " << threads << "\n";
}

void PrintRowsJson(const std::vector<CallersRow>& rows, int threads) {
  Json list = Json::array();
  for (const CallersRow& row : rows) {
    list.push_back({{"callers", row.callers},
                    {"runs_per_second", row.runs_per_second},
                    {"latency_ms",
                     {{"p50", PercentileMs(row.times, 50)},
                      {"p90", PercentileMs(row.times, 90)},
                      {"p99", PercentileMs(row.times, 99)}}}});
  }
  PrintJson({{"callers", list}, {"threads", threads}});
}

}  // namespace

absl::Status BenchCallers(const Options& options, const PreparedModel& model) {
  std::vector<CallersRow> rows;
  ATTNRUN_RETURN_IF_ERROR(TimedRun(options, model).status());
  for (const int count : options.callers) {
    ATTNRUN_ASSIGN_OR_RETURN(CallersRow row, MeasureRow(options, model, count));
    rows.push_back(std::move(row));
  }
  if (options.json) {
    PrintRowsJson(rows, model.session.threads());
  } else {
    PrintText(rows, model.session.threads());
  }
  return absl::OkStatus();
}

}  // namespace attnrun::cli
