// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_INPUTS_H_
#define ATTNRUN_TOOLS_ATTNRUN_INPUTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/fit_inputs.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"
#include "tools/attnrun/dim_sizes.h"

namespace attnrun::cli {

// The sources of a run's inputs.
struct InputOptions {
  // --input NAME=FILE (.npy or .pb).
  std::map<std::string, std::string> files;
  // --inputs FILE.npz | DIR; may be empty. --input takes precedence.
  std::string archive;
  // --dim NAME=N and --seed N, for generated inputs.
  std::map<std::string, int64_t> dims;
  std::optional<uint64_t> seed;
  DefaultExtents defaults = {};
};

// Reads the InputFitter of a model when it is first asked for, and only once.
class LazyFitter {
 public:
  // The path of an .onnx file; empty for inputs that are not fitted.
  explicit LazyFitter(std::string model) : model_(std::move(model)) {}

  // Null if there is no model. Errors as in InputFitter::Load.
  absl::StatusOr<const InputFitter*> Get();

 private:
  std::string model_;
  std::optional<InputFitter> fitter_;
};

struct GatheredInputs {
  TensorMap tensors;
  // The names of those that were made up.
  std::vector<std::string> generated;
};

// One tensor per input without default, and per input that is given. Without any file all are
// generated; with files, the others are generated only with --dim or --seed. kInvalidArgument for a
// name that the model does not have, a missing input, or a file that is not a readable array. Types
// and shapes are left to Session::Run to check.
absl::StatusOr<GatheredInputs> GatherInputs(const std::vector<ValueInfo>& declared,
                                            const InputOptions& options, LazyFitter& fitter);

// "Inputs were made up: ids int64[1,16]; ...": what to say where a run of such inputs fails or
// tells nothing. Empty if none was made up.
std::string MadeUpHint(const GatheredInputs& inputs);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_INPUTS_H_
