// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/inputs.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "tools/attnrun/arrays.h"
#include "tools/attnrun/generate.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

absl::StatusOr<TensorMap> ReadGiven(const std::vector<ValueInfo>& declared,
                                    const InputOptions& options) {
  TensorMap inputs;
  if (!options.archive.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(inputs, ReadArrays(options.archive, Role::kInput, declared));
  }
  ATTNRUN_RETURN_IF_ERROR(ReadFiles(options.files, Role::kInput, declared, inputs));
  return inputs;
}

// The argument that gives an input.
std::string Option(const ValueInfo& info) {
  return absl::StrCat("--input ", Printable(info.name), HoldsSequence(info.kind) ? "/0" : "",
                      "=FILE");
}

absl::Status Missing(const ValueInfo& info) {
  const std::string name = Printable(info.name);
  return absl::InvalidArgumentError(
      absl::StrCat("input '", name, "' is missing: expected ", Printable(TypeAndShape(info)),
                   ", but found no file for it (", Option(info),
                   " provides it, --seed N generates all inputs that are not given)"));
}

absl::Status WithoutRank(const ValueInfo& info) {
  return absl::InvalidArgumentError(
      absl::StrCat("input '", Printable(info.name),
                   "' has no declared rank, so it must be given: ", Option(info)));
}

// The shape and the fixed axes of an input, whether it is given or not.
ProposedInput Propose(const ValueInfo& info, size_t rank, DimSizes& dims) {
  ProposedInput proposed;
  for (int axis = 0; axis < static_cast<int>(rank); ++axis) {
    proposed.shape.push_back(dims.Extent(info, axis));
    proposed.is_fixed.push_back(dims.IsFixed(info, axis));
  }
  return proposed;
}

// The inputs to generate, which have a declared rank, as the model's graph wants them.
absl::StatusOr<std::map<std::string, FittedInput>> Fit(const std::vector<ValueInfo>& declared,
                                                       LazyFitter& fitter, DimSizes& dims) {
  std::map<std::string, ProposedInput> proposed;
  std::map<std::string, FittedInput> fitted;
  for (const ValueInfo& info : declared) {
    if (!info.shape.has_value()) continue;
    proposed[info.name] = Propose(info, info.shape->size(), dims);
    fitted[info.name].shape = proposed[info.name].shape;
  }
  ATTNRUN_ASSIGN_OR_RETURN(const InputFitter* model, fitter.Get());
  if (model == nullptr) return fitted;
  fitted = model->Fit(proposed);
  for (const ValueInfo& info : declared) {
    const auto found = fitted.find(info.name);
    if (found != fitted.end()) dims.Fit(info, found->second.shape);
  }
  return fitted;
}

}  // namespace

absl::StatusOr<const InputFitter*> LazyFitter::Get() {
  if (model_.empty()) return nullptr;
  if (!fitter_.has_value()) {
    ATTNRUN_ASSIGN_OR_RETURN(fitter_, InputFitter::Load(model_));
  }
  return &*fitter_;
}

absl::StatusOr<GatheredInputs> GatherInputs(const std::vector<ValueInfo>& declared,
                                            const InputOptions& options, LazyFitter& fitter) {
  DimSizes dims(declared, options.defaults);
  for (const auto& [symbol, extent] : options.dims) {
    ATTNRUN_RETURN_IF_ERROR(dims.Set(symbol, extent));
  }
  GatheredInputs inputs;
  ATTNRUN_ASSIGN_OR_RETURN(inputs.tensors, ReadGiven(declared, options));
  const bool generate = (options.files.empty() && options.archive.empty()) ||
                        !options.dims.empty() || options.seed.has_value();
  for (const ValueInfo& info : declared) {
    const auto given = inputs.tensors.find(info.name);
    // The tensors of a sequence may differ in their extents.
    if (given == inputs.tensors.end() || info.kind != ValueKind::kTensor) continue;
    ATTNRUN_RETURN_IF_ERROR(dims.Bind(info, given->second));
  }
  for (const ValueInfo& info : declared) {
    if (info.has_default || inputs.tensors.count(info.name) > 0) continue;
    // An optional without an element is an input, too.
    if (IsOptional(info.kind) && (!generate || !info.shape.has_value())) continue;
    if (!generate) return Missing(info);
    if (!info.shape.has_value()) return WithoutRank(info);
    inputs.generated.push_back(info.name);
  }
  if (inputs.generated.empty()) return inputs;
  ATTNRUN_ASSIGN_OR_RETURN(const auto fitted, Fit(declared, fitter, dims));
  for (const ValueInfo& info : declared) {
    if (!absl::c_linear_search(inputs.generated, info.name)) continue;
    ATTNRUN_ASSIGN_OR_RETURN(
        inputs.tensors[info.name],
        Generate(info, fitted.at(info.name), dims.PastLength(), options.seed.value_or(0)));
  }
  return inputs;
}

std::string MadeUpHint(const GatheredInputs& inputs) {
  if (inputs.generated.empty()) return "";
  const auto append = [&](std::string* out, const std::string& name) {
    absl::StrAppend(out, Printable(name), " ", TypeAndShape(inputs.tensors.at(name)));
  };
  return absl::StrCat("inputs were made up: ", absl::StrJoin(inputs.generated, ", ", append),
                      "; --dim NAME=N changes an extent, --input NAME=FILE or --inputs FILE gives "
                      "real ones");
}

}  // namespace attnrun::cli
