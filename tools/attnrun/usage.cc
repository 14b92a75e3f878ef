// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/usage.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/attnrun/suggestion.h"

namespace attnrun::cli {
namespace {

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) names.push_back(option->get_name());
  return names;
}

}  // namespace

std::vector<const CLI::App*> VisibleCommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

bool IsCommand(const CLI::App& app, const std::string& name) {
  return absl::c_linear_search(CommandNames(app), name);
}

std::string ExplainUsage(const CLI::App& app, const std::string& first,
                         const CLI::ParseError& error) {
  const bool is_word = absl::c_all_of(first, absl::ascii_isalpha);
  const std::string suggestion = is_word ? Suggestion(first, CommandNames(app)) : "";
  if (!suggestion.empty() && !IsCommand(app, first)) {
    return absl::StrCat("there is no command '", first, "'", suggestion);
  }
  const auto commands = app.get_subcommands();
  if (commands.empty()) return error.what();
  const std::vector<std::string> rest = commands.front()->remaining();
  const auto option = absl::c_find_if(rest, [](const std::string& word) { return word[0] == '-'; });
  if (option != rest.end()) {
    return absl::StrCat("there is no option ", *option, " of ", commands.front()->get_name(),
                        Suggestion(*option, OptionNames(*commands.front())));
  }
  return rest.empty() ? error.what() : absl::StrCat("not expected: ", absl::StrJoin(rest, " "));
}

}  // namespace attnrun::cli
