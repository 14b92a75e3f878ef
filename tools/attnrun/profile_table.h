// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_PROFILE_TABLE_H_
#define ATTNRUN_TOOLS_ATTNRUN_PROFILE_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "attnrun/run_options.h"
#include "tools/attnrun/json_fwd.h"

namespace attnrun::cli {

// The average over runs of one node, or of all nodes of one op type that ran with one kernel.
struct ProfileRow {
  // Empty if the row stands for an op type.
  std::string node;
  std::string op_type;
  std::string kernel;
  // Excludes the nodes of subgraphs, which have rows of their own.
  absl::Duration time;
  // Floating-point operations per run; 0 if not counted.
  double flops = 0;
  // Executions per run.
  double calls = 0;
};

// The duration of each event minus that of the events inside it, such as the nodes of an If's
// branch.
std::vector<absl::Duration> SelfTimes(const std::vector<ProfileEvent>& events);

// Collects the events of several runs.
class ProfileTable {
 public:
  void Add(const std::vector<ProfileEvent>& events);

  // Rows per node, in the order of first execution.
  std::vector<ProfileRow> InOrder() const;
  // Rows per node and per op type, slowest first.
  std::vector<ProfileRow> ByNode() const;
  std::vector<ProfileRow> ByOp() const;
  // Mean time per run spent in nodes.
  absl::Duration Total() const;

 private:
  std::vector<ProfileRow> Average(bool by_node) const;

  // Sums over runs, in the order of first execution.
  std::vector<ProfileRow> rows_;
  int runs_ = 0;
};

// The events of one run in Chrome's trace format, for chrome://tracing and Perfetto.
Json ChromeTrace(const std::vector<ProfileEvent>& events);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_PROFILE_TABLE_H_
