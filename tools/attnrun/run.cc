// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iostream>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/expectation.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/model_run.h"
#include "tools/attnrun/npz.h"
#include "tools/attnrun/output_file.h"
#include "tools/attnrun/parts.h"
#include "tools/attnrun/summary.h"
#include "tools/attnrun/table.h"

namespace attnrun::cli {
namespace {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

absl::Status AddRows(absl::string_view label, const NamedTensors& tensors, Table& table) {
  for (const auto& [name, tensor] : ArraysOf(tensors)) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::string summary, SummaryText(tensor));
    table.Add({std::string(label), name, TypeAndShape(tensor), summary});
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> Summaries(const NamedTensors& tensors) {
  Json list = Json::array();
  for (const auto& [name, tensor] : ArraysOf(tensors)) {
    ATTNRUN_ASSIGN_OR_RETURN(list.emplace_back(), SummaryJson(name, tensor));
  }
  return list;
}

// True if there are floats among the outputs, and none of them is a number.
absl::StatusOr<bool> AllNan(const TensorMap& outputs) {
  bool any = false;
  for (const auto& [name, tensor] : outputs) {
    if (!IsFloatingPoint(tensor.type()) || tensor.num_elements() == 0) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(tensor));
    const auto is_nan = [](double value) { return std::isnan(value); };
    if (!absl::c_all_of(values, is_nan)) return false;
    any = true;
  }
  return any;
}

absl::Status PrintText(const Options& options, const PreparedModel& model, const RunResult& result,
                       const OutputDifferences& differences) {
  Table table("llll");
  ATTNRUN_RETURN_IF_ERROR(AddRows("input", InOrder(model.inputs, model.session.inputs()), table));
  ATTNRUN_RETURN_IF_ERROR(
      AddRows("output", InOrder(result.outputs, model.session.outputs()), table));
  std::cout << table.Text() << "time    " << TimeText(result.time) << " ("
            << EngineName(options.session.engine) << ", " << model.session.threads()
            << (model.session.threads() == 1 ? " thread" : " threads") << "), loaded in "
            << TimeText(model.load_time) << "\n"
            << DifferencesText(differences);
  if (model.made_up.empty()) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(const bool all_nan, AllNan(result.outputs));
  if (all_nan) std::cout << "note    all outputs are NaN, but " << model.made_up << "\n";
  return absl::OkStatus();
}

absl::Status PrintRunJson(const Options& options, const PreparedModel& model,
                          const RunResult& result, const OutputDifferences& differences) {
  Json json;
  ATTNRUN_ASSIGN_OR_RETURN(json["inputs"],
                           Summaries(InOrder(model.inputs, model.session.inputs())));
  ATTNRUN_ASSIGN_OR_RETURN(json["outputs"],
                           Summaries(InOrder(result.outputs, model.session.outputs())));
  json["time_ms"] = absl::ToDoubleMilliseconds(result.time);
  json["load_ms"] = absl::ToDoubleMilliseconds(model.load_time);
  json["engine"] = EngineName(options.session.engine);
  json["threads"] = model.session.threads();
  if (!options.expect.empty()) json["expect"] = DifferencesJson(differences);
  PrintJson(json);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> Run(const Options& options) {
  if (!options.output.empty()) ATTNRUN_RETURN_IF_ERROR(CheckWritable(options.output));
  ATTNRUN_ASSIGN_OR_RETURN(PreparedModel model, Prepare(options));
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap expected, ReadExpected(options, model.session));
  ATTNRUN_ASSIGN_OR_RETURN(const RunResult result, FirstRun(options, model));
  if (!options.output.empty()) {
    ATTNRUN_RETURN_IF_ERROR(WriteNpz(options.output, result.outputs));
  }
  ATTNRUN_ASSIGN_OR_RETURN(
      const OutputDifferences differences,
      CompareOutputs(expected, result.outputs, model.session, options.tolerance));
  ATTNRUN_RETURN_IF_ERROR(options.json ? PrintRunJson(options, model, result, differences)
                                       : PrintText(options, model, result, differences));
  return Verdict(options, differences);
}

}  // namespace attnrun::cli
