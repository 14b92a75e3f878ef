// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/expectation.h"

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "tools/attnrun/arrays.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/model_run.h"
#include "tools/attnrun/table.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {

absl::StatusOr<TensorMap> ReadExpected(const Options& options, const Session& session) {
  if (options.expect.empty()) return TensorMap();
  absl::StatusOr<TensorMap> expected = ReadArrays(options.expect, Role::kOutput, session.outputs());
  if (!expected.ok()) return Annotate(expected.status(), options.model);
  if (!expected->empty()) return expected;
  return absl::InvalidArgumentError(
      absl::StrCat(options.expect, ": expected outputs of ", options.model, ", but found none"));
}

absl::StatusOr<OutputDifferences> CompareOutputs(const TensorMap& expected,
                                                 const TensorMap& outputs, const Session& session,
                                                 const Tolerance& tolerance) {
  OutputDifferences differences;
  for (const auto& [name, tensor] : InOrder(expected, session.outputs())) {
    ATTNRUN_ASSIGN_OR_RETURN(Difference difference, Compare(tensor, outputs.at(name), tolerance));
    differences.emplace_back(name, std::move(difference));
  }
  return differences;
}

bool AllAgree(const OutputDifferences& differences) {
  return std::all_of(differences.begin(), differences.end(),
                     [](const auto& entry) { return entry.second.ok; });
}

std::string DifferencesText(const OutputDifferences& differences) {
  Table table("llll");
  for (const auto& [name, difference] : differences) {
    table.Add({difference.ok ? "agrees" : "differs", name, Describe(difference)});
  }
  return table.Text();
}

Json DifferencesJson(const OutputDifferences& differences) {
  Json list = Json::array();
  for (const auto& [name, difference] : differences) {
    Json& entry = list.emplace_back(Json{{"name", name}});
    entry.update(ToJson(difference));
  }
  return list;
}

int Verdict(const Options& options, const OutputDifferences& differences) {
  int status = kFine;
  for (const auto& [name, difference] : differences) {
    if (difference.ok) continue;
    std::cerr << "attnrun: " << options.model << ": output '" << Printable(name)
              << "' differs: " << Describe(difference) << "\n";
    status = kComparisonFailed;
  }
  return status;
}

}  // namespace attnrun::cli
