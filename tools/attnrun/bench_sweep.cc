// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status.h"
#include "tools/attnrun/bench_modes.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/table.h"

namespace attnrun::cli {
namespace {

constexpr std::chrono::seconds kTimePerExtent(2);

struct SweepRow {
  int64_t extent = 0;
  std::vector<absl::Duration> times;
};

double PerUnitMs(const SweepRow& row) {
  return row.extent == 0 ? 0 : PercentileMs(row.times, 0) / static_cast<double>(row.extent);
}

void PrintText(const std::string& dim, const std::vector<SweepRow>& rows) {
  Table table("rrrrr");
  table.Add({dim, "min ms", "p50 ms", "p90 ms", absl::StrCat("min ms per ", dim)});
  for (const SweepRow& row : rows) {
    table.Add({absl::StrCat(row.extent), absl::StrFormat("%.3f", PercentileMs(row.times, 0)),
               absl::StrFormat("%.3f", PercentileMs(row.times, 50)),
               absl::StrFormat("%.3f", PercentileMs(row.times, 90)),
               absl::StrFormat("%.4f", PerUnitMs(row))});
  }
  std::cout << table.Text();
}

void PrintRowsJson(const std::string& dim, const std::vector<SweepRow>& rows) {
  Json list = Json::array();
  for (const SweepRow& row : rows) {
    list.push_back({{dim, row.extent},
                    {"runs", row.times.size()},
                    {"latency_ms",
                     {{"min", PercentileMs(row.times, 0)},
                      {"p50", PercentileMs(row.times, 50)},
                      {"p90", PercentileMs(row.times, 90)}}}});
  }
  PrintJson({{"sweep", list}});
}

}  // namespace

absl::Status SetExtent(const Options& options, const std::string& dim, int64_t extent,
                       PreparedModel& model) {
  InputOptions inputs = options.inputs;
  inputs.dims[dim] = extent;
  return GatherFor(options, inputs, model);
}

absl::Status BenchSweep(const Options& options, PreparedModel& model) {
  const auto measure = [&](int64_t extent) -> absl::StatusOr<SweepRow> {
    ATTNRUN_RETURN_IF_ERROR(SetExtent(options, options.sweep->dim, extent, model));
    const std::string what = absl::StrCat(options.sweep->dim, " ", extent, ": ");
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<absl::Duration> times,
                             MeasureRuns(options, model, kTimePerExtent, what));
    return SweepRow{extent, std::move(times)};
  };
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<SweepRow> rows,
                           MeasureEach(options.sweep->extents, measure));
  if (options.json) {
    PrintRowsJson(options.sweep->dim, rows);
  } else {
    PrintText(options.sweep->dim, rows);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::cli
