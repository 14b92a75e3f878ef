// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_USAGE_H_
#define ATTNRUN_TOOLS_ATTNRUN_USAGE_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace attnrun::cli {

// The commands that the help lists, in its order.
std::vector<const CLI::App*> VisibleCommands(const CLI::App& app);

bool IsCommand(const CLI::App& app, const std::string& name);

// The message for a command line that cannot be parsed; `first` is its first word. A misspelled
// word counts before whatever is missing or left over because of it.
std::string ExplainUsage(const CLI::App& app, const std::string& first,
                         const CLI::ParseError& error);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_USAGE_H_
