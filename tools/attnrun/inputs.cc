// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/inputs.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "tools/attnrun/arrays.h"
#include "tools/attnrun/dim_sizes.h"
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
  for (const auto& [name, file] : options.files) {
    ATTNRUN_ASSIGN_OR_RETURN(inputs[name], ReadArray(file, name, Role::kInput, declared));
  }
  return inputs;
}

absl::Status Missing(const ValueInfo& info) {
  const std::string name = Printable(info.name);
  return absl::InvalidArgumentError(
      absl::StrCat("input '", name, "' is missing: expected ", Printable(TypeAndShape(info)),
                   ", but found no file for it (--input ", name,
                   "=FILE provides it, --seed N generates all inputs that are not given)"));
}

}  // namespace

absl::StatusOr<TensorMap> GatherInputs(const std::vector<ValueInfo>& declared,
                                       const InputOptions& options) {
  DimSizes dims(declared);
  for (const auto& [symbol, extent] : options.dims) {
    ATTNRUN_RETURN_IF_ERROR(dims.Set(symbol, extent));
  }
  ATTNRUN_ASSIGN_OR_RETURN(TensorMap inputs, ReadGiven(declared, options));
  const bool generate = (options.files.empty() && options.archive.empty()) ||
                        !options.dims.empty() || options.seed.has_value();
  for (const ValueInfo& info : declared) {
    const auto given = inputs.find(info.name);
    if (given != inputs.end()) ATTNRUN_RETURN_IF_ERROR(dims.Bind(info, given->second));
  }
  for (const ValueInfo& info : declared) {
    if (info.has_default || inputs.count(info.name) > 0) continue;
    if (!generate) return Missing(info);
    ATTNRUN_ASSIGN_OR_RETURN(inputs[info.name], Generate(info, dims, options.seed.value_or(0)));
  }
  return inputs;
}

}  // namespace attnrun::cli
