// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_MANUAL_H_
#define ATTNRUN_TOOLS_ATTNRUN_MANUAL_H_

#include <string>

#include "CLI/CLI.hpp"

namespace attnrun::cli {

// The help of an app with lines of at most 80 columns.
class WrappedHelp : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

// The manual page, in man's macros for troff: commands, options and footer of the app.
std::string ManualPage(const CLI::App& app);

// A script for bash that completes commands, their options, and file names.
std::string BashCompletion(const CLI::App& app);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_MANUAL_H_
