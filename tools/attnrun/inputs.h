// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_INPUTS_H_
#define ATTNRUN_TOOLS_ATTNRUN_INPUTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun::cli {

// Where the inputs of a run come from.
struct InputOptions {
  // --input NAME=FILE (.npy or .pb).
  std::map<std::string, std::string> files;
  // --inputs FILE.npz | DIR; may be empty. --input goes before it.
  std::string archive;
  // --dim NAME=N and --seed N, for what is generated.
  std::map<std::string, int64_t> dims;
  std::optional<uint64_t> seed;
};

// One tensor per input without default, and per input that was given. Without any file, all are
// generated; with files, the others are generated only if --dim or --seed asks for it.
// kInvalidArgument for a name that the model does not have, a missing input and files that cannot
// be read as arrays; that types and shapes are as declared is left to Session::Run.
absl::StatusOr<TensorMap> GatherInputs(const std::vector<ValueInfo>& declared,
                                       const InputOptions& options);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_INPUTS_H_
