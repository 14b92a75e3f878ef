// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/compare_precision.h"

#include <iostream>

#include "core/status.h"
#include "tools/attnrun/expectation.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/model_run.h"
#include "tools/attnrun/npz.h"
#include "tools/attnrun/precision_table.h"

namespace attnrun::cli {
namespace {

// The outputs of one of the two runs.
TensorMap OutputsOf(const PrecisionReport& report, Tensor OutputPrecision::* run) {
  TensorMap outputs;
  for (const OutputPrecision& output : report.outputs) outputs[output.name] = output.*run;
  return outputs;
}

// None if no tolerance is given, since a lower precision has no error that is right for every
// model.
absl::StatusOr<OutputDifferences> CheckTolerance(const Options& options, const Session& session,
                                                 const PrecisionReport& report) {
  const Tolerance& tolerance = options.tolerance;
  if (!tolerance.rtol.has_value() && !tolerance.atol.has_value()) return OutputDifferences();
  return CompareOutputs(OutputsOf(report, &OutputPrecision::float32),
                        OutputsOf(report, &OutputPrecision::lower), session, tolerance);
}

void PrintReport(const Options& options, const PrecisionReport& report,
                 const OutputDifferences& differences) {
  if (!options.json) {
    std::cout << PrecisionText(report);
    return;
  }
  Json json = PrecisionJson(report);
  if (!differences.empty()) json["tolerance"] = DifferencesJson(differences);
  PrintJson(json);
}

}  // namespace

absl::StatusOr<int> ComparePrecision(const Options& options) {
  ATTNRUN_ASSIGN_OR_RETURN(PreparedModel model, Prepare(options));
  ATTNRUN_RETURN_IF_ERROR(FirstRun(options, model).status());
  absl::StatusOr<PrecisionReport> report = model.session.MeasurePrecision(model.inputs);
  if (!report.ok()) return Annotate(report.status(), options.model);
  if (!options.output.empty()) {
    ATTNRUN_RETURN_IF_ERROR(WriteNpz(options.output, OutputsOf(*report, &OutputPrecision::lower)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const OutputDifferences differences,
                           CheckTolerance(options, model.session, *report));
  PrintReport(options, *report, differences);
  return Verdict(options, differences);
}

}  // namespace attnrun::cli
