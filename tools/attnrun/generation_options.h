// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_GENERATION_OPTIONS_H_
#define ATTNRUN_TOOLS_ATTNRUN_GENERATION_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/string_view.h"
#include "tools/attnrun/generation_arguments.h"

namespace attnrun::cli {

// Adds the options of `attnrun generate` other than those of a session.
void AddGenerationOptions(CLI::App& app, GenerationArguments& arguments);

// The option of a setting of transformers: "--top-k" for top_k.
std::string OptionOf(absl::string_view setting);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_GENERATION_OPTIONS_H_
