// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_EXPECTATION_H_
#define ATTNRUN_TOOLS_ATTNRUN_EXPECTATION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/session.h"
#include "tools/attnrun/difference.h"
#include "tools/attnrun/options.h"

namespace attnrun::cli {

// The differences of the compared outputs, in the model's order.
using OutputDifferences = std::vector<std::pair<std::string, Difference>>;

// The outputs that --expect provides; none without --expect. Messages name the model.
absl::StatusOr<TensorMap> ReadExpected(const Options& options, const Session& session);

// Compares every expected output. Precondition: `outputs` contains them.
absl::StatusOr<OutputDifferences> CompareOutputs(const TensorMap& expected,
                                                 const TensorMap& outputs, const Session& session,
                                                 const Tolerance& tolerance);

bool AllAgree(const OutputDifferences& differences);

// One line per output for standard output.
std::string DifferencesText(const OutputDifferences& differences);

// A list of objects, each with "name" and the keys of ToJson(Difference).
Json DifferencesJson(const OutputDifferences& differences);

// Returns kFine if all agree; otherwise kComparisonFailed, after printing a line to standard error
// for each output that differs.
int Verdict(const Options& options, const OutputDifferences& differences);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_EXPECTATION_H_
