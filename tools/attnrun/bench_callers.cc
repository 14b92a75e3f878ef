// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/same_bits.h"
#include "core/status.h"
#include "tools/attnrun/bench_modes.h"
#include "tools/attnrun/interrupt_guard.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/latency.h"
#include "tools/attnrun/progress.h"
#include "tools/attnrun/table.h"

namespace attnrun::cli {
namespace {

constexpr std::chrono::seconds kTimePerRow(3);
// The most extents of --stream for which inputs and outputs are kept.
constexpr int64_t kMostExtents = 64;

// The inputs of one run, and the outputs of it alone.
struct Request {
  TensorMap inputs;
  TensorMap expected;
};

// The measurements with one number of callers, over all of them.
struct CallersRow {
  int callers = 0;
  std::vector<absl::Duration> times;
  double runs_per_second = 0;
  // Runs whose outputs have other bits than those of their request alone.
  int64_t differ = 0;
};

struct Caller {
  std::vector<absl::Duration> times;
  int64_t differ = 0;
  absl::Status status;
};

// The model's inputs with each extent of --stream, or with kMostExtents of them, evenly spread;
// without --stream, its inputs as they are.
absl::StatusOr<std::vector<TensorMap>> InputsOfRequests(const Options& options,
                                                        PreparedModel& model) {
  if (!options.stream.has_value()) return std::vector<TensorMap>{model.inputs};
  const auto& [dim, low, high] = *options.stream;
  const int64_t steps = std::min(high - low, kMostExtents - 1);
  std::vector<TensorMap> inputs;
  for (int64_t i = 0; i <= steps; ++i) {
    const int64_t extent = low + (steps == 0 ? 0 : (high - low) * i / steps);
    ATTNRUN_RETURN_IF_ERROR(SetExtent(options, dim, extent, model));
    inputs.push_back(model.inputs);
  }
  return inputs;
}

absl::StatusOr<std::vector<Request>> RunAlone(const Options& options, PreparedModel& model) {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<TensorMap> inputs, InputsOfRequests(options, model));
  Progress progress;
  std::vector<Request> requests;
  for (TensorMap& request : inputs) {
    progress.Show(absl::StrCat("request ", requests.size() + 1, " of ", inputs.size(), " alone"));
    ATTNRUN_ASSIGN_OR_RETURN(RunResult alone, TimedRun(options, model, request, {}));
    requests.push_back({std::move(request), std::move(alone.outputs)});
  }
  return requests;
}

void Call(const Options& options, const PreparedModel& model, const std::vector<Request>& requests,
          uint64_t seed, Caller& caller) {
  std::mt19937_64 generator(seed);
  std::uniform_int_distribution<size_t> draw(0, requests.size() - 1);
  const auto end = std::chrono::steady_clock::now() + kTimePerRow;
  const auto enough = [&](size_t runs) {
    if (options.runs.has_value()) return runs >= static_cast<size_t>(*options.runs);
    return std::chrono::steady_clock::now() > end;
  };
  while (!enough(caller.times.size())) {
    const Request& request = requests[draw(generator)];
    const absl::StatusOr<RunResult> result = TimedRun(options, model, request.inputs, {});
    if (WasInterrupted() && !caller.times.empty()) return;
    if (!result.ok()) {
      caller.status = result.status();
      return;
    }
    caller.times.push_back(result->time);
    if (!SameBits(request.expected, result->outputs)) ++caller.differ;
  }
}

absl::StatusOr<CallersRow> MeasureRow(const Options& options, const PreparedModel& model,
                                      const std::vector<Request>& requests, int count) {
  std::vector<Caller> callers(count);
  std::vector<std::thread> threads;
  uint64_t seed = options.inputs.seed.value_or(0);
  const auto begin = std::chrono::steady_clock::now();
  for (Caller& caller : callers) {
    threads.emplace_back([&, seed] { Call(options, model, requests, seed, caller); });
    ++seed;
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  CallersRow row;
  row.callers = count;
  for (const Caller& caller : callers) {
    ATTNRUN_RETURN_IF_ERROR(caller.status);
    row.times.insert(row.times.end(), caller.times.begin(), caller.times.end());
    row.differ += caller.differ;
  }
  row.runs_per_second = static_cast<double>(row.times.size()) / elapsed.count();
  return row;
}

void PrintText(const std::vector<CallersRow>& rows, int threads) {
  Table table("rrrrrr");
  table.Add({"callers", "runs/s", "p50 ms", "p90 ms", "p99 ms", "max ms"});
  for (const CallersRow& row : rows) {
    table.Add({absl::StrCat(row.callers), absl::StrFormat("%.2f", row.runs_per_second),
               absl::StrFormat("%.3f", PercentileMs(row.times, 50)),
               absl::StrFormat("%.3f", PercentileMs(row.times, 90)),
               absl::StrFormat("%.3f", PercentileMs(row.times, 99)),
               absl::StrFormat("%.3f", PercentileMs(row.times, 100))});
  }
  std::cout << table.Text() << "threads per run: " << threads << "\n";
}

// Says how many outputs were not those of the request alone.
void PrintDiffering(const std::vector<CallersRow>& rows) {
  for (const CallersRow& row : rows) {
    if (row.differ == 0) continue;
    std::cout << absl::StrFormat("%d callers: %d of %d outputs differ from those of a run alone\n",
                                 row.callers, row.differ, row.times.size());
  }
}

void PrintRowsJson(const std::vector<CallersRow>& rows, int threads) {
  Json list = Json::array();
  for (const CallersRow& row : rows) {
    list.push_back({{"callers", row.callers},
                    {"runs_per_second", row.runs_per_second},
                    {"runs", row.times.size()},
                    {"differ", row.differ},
                    {"latency_ms",
                     {{"p50", PercentileMs(row.times, 50)},
                      {"p90", PercentileMs(row.times, 90)},
                      {"p99", PercentileMs(row.times, 99)},
                      {"max", PercentileMs(row.times, 100)}}}});
  }
  PrintJson({{"callers", list}, {"threads", threads}, {"peak_rss_mb", PeakMemoryMb()}});
}

}  // namespace

absl::StatusOr<int> BenchCallers(const Options& options, PreparedModel& model) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Request> requests, RunAlone(options, model));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<CallersRow> rows,
                           MeasureEach(options.callers, [&](int count) {
                             return MeasureRow(options, model, requests, count);
                           }));
  if (options.json) {
    PrintRowsJson(rows, model.session.threads());
  } else {
    PrintText(rows, model.session.threads());
    PrintDiffering(rows);
  }
  const bool same =
      std::all_of(rows.begin(), rows.end(), [](const CallersRow& row) { return row.differ == 0; });
  return same ? kFine : kComparisonFailed;
}

}  // namespace attnrun::cli
