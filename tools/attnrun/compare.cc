// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <iostream>
#include <map>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "tools/attnrun/bisect.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/compare_precision.h"
#include "tools/attnrun/expectation.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/model_run.h"
#include "tools/attnrun/npz.h"
#include "tools/attnrun/output_file.h"
#include "tools/attnrun/progress.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

// The values of one run by name. A value in a loop has one tensor per iteration.
using Values = std::map<std::string, std::deque<Tensor>>;

struct Divergence {
  std::string name;
  // Position in the reference's order of execution, counted from 1.
  int64_t place = 0;
  Difference difference;
  // How often a loop computed the value before.
  int64_t iteration = 0;
  Tensor expected;
};

// The result of comparing two engines value by value.
struct Comparison {
  int64_t values = 0;
  int64_t compared = 0;
  int64_t diverging = 0;
  std::optional<Divergence> first;
  OutputDifferences outputs;
  // For the outputs.
  Tolerance tolerance;
  std::optional<Culprit> culprit;
  // Set if there are no outputs: the model fails with rewrites, but runs without them.
  absl::Status failure;
};

// Compares values of the reference, as they are computed, with those of the engine under test.
class ValueComparer {
 public:
  ValueComparer(Values found, const Tolerance& tolerance) : found_(std::move(found)) {
    report_.tolerance = tolerance;
  }

  void Observe(absl::string_view name, const Tensor& expected) {
    ++report_.values;
    progress_.Show(absl::StrCat("reference: value ", report_.values, ", ", name));
    const int64_t iteration = iterations_[std::string(name)]++;
    AddSource(expected, report_.tolerance);
    const auto it = found_.find(std::string(name));
    if (it == found_.end() || it->second.empty() || !status_.ok()) return;
    ++report_.compared;
    absl::StatusOr<Difference> difference =
        Compare(expected, it->second.front(), report_.tolerance);
    it->second.pop_front();
    if (!difference.ok()) {
      status_ = Annotate(difference.status(), name);
    } else if (!difference->ok) {
      ++report_.diverging;
      if (!report_.first.has_value()) {
        report_.first = Divergence{std::string(name), report_.values, *std::move(difference),
                                   iteration, expected};
      }
    }
  }

  absl::StatusOr<Comparison> Finish() {
    ATTNRUN_RETURN_IF_ERROR(status_);
    return std::move(report_);
  }

 private:
  Values found_;
  std::map<std::string, int64_t> iterations_;
  Comparison report_;
  absl::Status status_;
  Progress progress_;
};

// Runs the engine under test and keeps every value that it computes.
absl::StatusOr<TensorMap> RunTested(const Options& options, const PreparedModel& model,
                                    Values& values) {
  RunOptions keep;
  keep.observer = [&values](absl::string_view name, const Tensor& value) {
    values[std::string(name)].push_back(value);
  };
  ATTNRUN_ASSIGN_OR_RETURN(RunResult result, TimedRun(options, model, keep));
  return std::move(result.outputs);
}

// The inputs and expected outputs for runs of the model with other rewrites.
struct Standard {
  const Options& options;
  const TensorMap& inputs;
  const TensorMap& outputs;
  const Tolerance& tolerance;
};

bool OutputsDiffer(const Session& session, const Standard& standard) {
  const auto outputs = session.Run(standard.inputs);
  // A model that can no longer run counts as wrong.
  if (!outputs.ok()) return true;
  const auto differences = CompareOutputs(standard.outputs, *outputs, session, standard.tolerance);
  return !differences.ok() || !AllAgree(*differences);
}

// True if the value that diverges first with all rewrites differs here; false if it is not
// computed.
bool ValueDiffers(const Session& session, const Standard& standard, const Divergence& value) {
  bool differs = false;
  int64_t iteration = 0;
  RunOptions watch;
  watch.observer = [&](absl::string_view name, const Tensor& found) {
    if (name != value.name || iteration++ != value.iteration) return;
    const auto difference = Compare(value.expected, found, standard.tolerance);
    differs = !difference.ok() || !difference->ok;
  };
  return !session.Run(standard.inputs, watch).ok() || differs;
}

// Finds the rewrite that makes the outputs differ or, if they agree, the first diverging value.
absl::Status Bisect(const Standard& standard, const Session& tested, Comparison& report) {
  const int64_t rewrites = AppliedRewrites(tested);
  const bool outputs_differ = !AllAgree(report.outputs);
  if (rewrites == 0 || (!outputs_differ && !report.first.has_value())) return absl::OkStatus();
  const auto differs = [&](const Session& session) {
    return outputs_differ ? OutputsDiffer(session, standard)
                          : ValueDiffers(session, standard, *report.first);
  };
  ATTNRUN_ASSIGN_OR_RETURN(report.culprit, FindCulprit(standard.options, rewrites, differs));
  return absl::OkStatus();
}

// Explains a failed run: reports the rewrite with which it starts to fail, or returns the failure
// itself if the model fails without any rewrite.
absl::StatusOr<Comparison> ExplainFailure(const Options& options, const PreparedModel& model,
                                          const absl::Status& failure) {
  const int64_t rewrites = AppliedRewrites(model.session);
  if (rewrites == 0) return failure;
  const auto fails = [&](const Session& session) { return !session.Run(model.inputs).ok(); };
  ATTNRUN_ASSIGN_OR_RETURN(const Culprit culprit, FindCulprit(options, rewrites, fails));
  if (culprit.number == 0) return failure;
  Comparison report;
  report.culprit = culprit;
  report.failure = failure;
  return report;
}

// Runs the reference on the same inputs and compares. `values` are those of the tested engine.
absl::StatusOr<Comparison> RunReference(const Options& options, const PreparedModel& model,
                                        const TensorMap& outputs, Values values) {
  Options reference_options = options;
  reference_options.session.engine = Engine::kReference;
  ATTNRUN_ASSIGN_OR_RETURN(Session session,
                           Session::Load(options.model, reference_options.session));
  const PreparedModel reference{std::move(session), model.inputs, absl::Duration()};
  ValueComparer comparer(std::move(values), options.tolerance);
  RunOptions observe;
  observe.observer = [&comparer](absl::string_view name, const Tensor& value) {
    comparer.Observe(name, value);
  };
  ATTNRUN_ASSIGN_OR_RETURN(const RunResult expected,
                           TimedRun(reference_options, reference, observe));
  ATTNRUN_ASSIGN_OR_RETURN(Comparison report, comparer.Finish());
  ATTNRUN_ASSIGN_OR_RETURN(
      report.outputs, CompareOutputs(expected.outputs, outputs, model.session, report.tolerance));
  ATTNRUN_RETURN_IF_ERROR(
      Bisect({options, model.inputs, expected.outputs, report.tolerance}, model.session, report));
  return report;
}

absl::StatusOr<Comparison> MakeReport(const Options& options) {
  ATTNRUN_ASSIGN_OR_RETURN(PreparedModel model, Prepare(options));
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap expected, ReadExpected(options, model.session));
  Values values;
  absl::StatusOr<TensorMap> tested = RunTested(options, model, values);
  if (!tested.ok() && FirstRun(options, model).ok()) {
    values.clear();
    tested = RunTested(options, model, values);
  }
  if (!tested.ok()) return ExplainFailure(options, model, tested.status());
  const TensorMap& outputs = *tested;
  if (!options.output.empty()) ATTNRUN_RETURN_IF_ERROR(WriteNpz(options.output, outputs));
  if (options.expect.empty()) return RunReference(options, model, outputs, std::move(values));
  Comparison report;
  ATTNRUN_ASSIGN_OR_RETURN(report.outputs,
                           CompareOutputs(expected, outputs, model.session, options.tolerance));
  ATTNRUN_RETURN_IF_ERROR(
      Bisect({options, model.inputs, expected, options.tolerance}, model.session, report));
  return report;
}

// True if the first difference may come from rounding alone: quantization rounded a number up in
// one engine and down in the other, after a rounding error in its operands.
bool IsRoundedOtherwise(const Divergence& divergence) {
  const DataType type = divergence.expected.type();
  return (type == DataType::kInt8 || type == DataType::kUint8) &&
         divergence.difference.mismatch.empty() && divergence.difference.largest <= 1;
}

void PrintValues(const Comparison& report) {
  std::cout << "compared " << report.compared << " of " << report.values
            << " values with the reference, of which " << report.diverging << " diverge";
  const int64_t gone = report.values - report.compared;
  if (gone > 0) std::cout << "; the other " << gone << " are fused or folded away";
  std::cout << "\n";
  if (!report.first.has_value()) return;
  std::cout << "first value that diverges: '" << Printable(report.first->name) << "' (number "
            << report.first->place << "): " << Describe(report.first->difference) << "\n";
  if (IsRoundedOtherwise(*report.first)) {
    std::cout
        << "it is quantized and differs by one: a number near the middle between two steps was "
           "rounded the other way;\nvalues that depend on it may differ by as much as the "
           "quantization error\n";
  }
}

void PrintText(const Options& options, const Comparison& report) {
  if (!report.failure.ok() && report.culprit.has_value()) {
    std::cout << Describe(*report.culprit, "fails");
    return;
  }
  std::cout << DifferencesText(report.outputs);
  if (options.expect.empty()) PrintValues(report);
  if (report.culprit.has_value()) std::cout << Describe(*report.culprit, "differs");
}

Json ToJson(const Options& options, const Comparison& report) {
  Json json = {{"outputs", DifferencesJson(report.outputs)}, {"culprit", Json()}};
  if (report.culprit.has_value()) json["culprit"] = ToJson(*report.culprit);
  if (!report.failure.ok()) json["failure"] = report.failure.message();
  if (!options.expect.empty() || !report.failure.ok()) return json;
  json["values"] = report.values;
  json["compared"] = report.compared;
  json["diverging"] = report.diverging;
  json["first_divergence"] = Json();
  if (report.first.has_value()) {
    Json& first = json["first_divergence"];
    first = {{"name", report.first->name}, {"place", report.first->place}};
    first.update(ToJson(report.first->difference));
    first["rounded_otherwise"] = IsRoundedOtherwise(*report.first);
  }
  return json;
}

}  // namespace

absl::StatusOr<int> CompareEngines(const Options& options) {
  if (!options.output.empty()) ATTNRUN_RETURN_IF_ERROR(CheckWritable(options.output));
  if (options.session.precision != Precision::kFloat32 && options.expect.empty()) {
    return ComparePrecision(options);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const Comparison report, MakeReport(options));
  if (options.json) {
    PrintJson(ToJson(options, report));
  } else {
    PrintText(options, report);
  }
  if (report.failure.ok()) return Verdict(options, report.outputs);
  std::cerr << "attnrun: " << report.failure.message() << "\n";
  return kComparisonFailed;
}

}  // namespace attnrun::cli
