// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_GENERATION_OPTIONS_H_
#define ATTNRUN_TOOLS_ATTNRUN_GENERATION_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tools/attnrun/generation_arguments.h"

namespace attnrun::cli {

// Adds the options of `attnrun generate` other than those of a session.
void AddGenerationOptions(CLI::App& app, GenerationArguments& arguments);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_GENERATION_OPTIONS_H_
