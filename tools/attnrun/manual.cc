// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/manual.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "attnrun/session.h"
#include "tools/attnrun/usage.h"

namespace attnrun::cli {
namespace {

constexpr size_t kColumns = 80;

// Breaks lines at spaces so that none is wider than `columns`, except for single words.
std::string Wrapped(const std::string& text, size_t columns) {
  std::string lines;
  size_t used = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const bool fits = used + 1 + word.size() <= columns;
    if (!lines.empty()) lines += fits ? ' ' : '\n';
    used = fits && used > 0 ? used + 1 + word.size() : word.size();
    absl::StrAppend(&lines, word);
  }
  return lines;
}

// Text that troff prints as it stands.
std::string Plain(absl::string_view text) {
  const std::string escaped =
      absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n", "\n.br\n"}});
  return escaped[0] == '.' || escaped[0] == '\'' ? absl::StrCat("\\&", escaped) : escaped;
}

// An option, and the commands that have it with this description.
struct Entry {
  std::string name;
  std::string argument;
  std::string description;
  std::vector<std::string> commands;
};

std::vector<Entry> Entries(const CLI::App& app) {
  std::vector<Entry> entries;
  for (const CLI::App* command : VisibleCommands(app)) {
    for (const CLI::Option* option : command->get_options()) {
      const std::string name = option->get_name(true, true);
      const auto same = [&](const Entry& entry) {
        return entry.name == name && entry.description == option->get_description();
      };
      auto entry = absl::c_find_if(entries, same);
      if (entry == entries.end()) {
        const std::string argument =
            option->get_items_expected() > 0 ? option->get_type_name() : "";
        entry = entries.insert(entry, {name, argument, option->get_description(), {}});
      }
      entry->commands.push_back(command->get_name());
    }
  }
  return entries;
}

std::string ManualEntry(const Entry& entry, size_t commands) {
  std::string text = absl::StrCat(".TP\n\\fB", Plain(entry.name), "\\fR");
  if (!entry.argument.empty()) absl::StrAppend(&text, " \\fI", Plain(entry.argument), "\\fR");
  absl::StrAppend(&text, "\n", Plain(entry.description), ".");
  if (entry.commands.size() < commands) {
    absl::StrAppend(&text, " For ", absl::StrJoin(entry.commands, ", "), ".");
  }
  return text + "\n";
}

// The options of a command.
std::string OptionWords(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) words.push_back(option->get_name(false, false));
  }
  return absl::StrJoin(words, " ");
}

}  // namespace

std::string WrappedHelp::make_description(const CLI::App* app) const {
  return Wrapped(app->get_description(), kColumns) + "\n";
}

std::string WrappedHelp::make_option_desc(const CLI::Option* option) const {
  return Wrapped(option->get_description(), kColumns - get_column_width());
}

std::string WrappedHelp::make_subcommand(const CLI::App* command) const {
  std::ostringstream out;
  CLI::detail::format_help(out, command->get_display_name(true),
                           Wrapped(command->get_description(), kColumns - get_column_width()),
                           get_column_width());
  return out.str();
}

std::string ManualPage(const CLI::App& app) {
  const std::vector<const CLI::App*> commands = VisibleCommands(app);
  std::string page = absl::StrCat(
      ".TH ATTNRUN 1 \"\" \"attnrun ", Version(), "\" \"User Commands\"\n.SH NAME\nattnrun \\- ",
      "runs exported transformer models (ONNX)\n.SH SYNOPSIS\n\\fBattnrun\\fR [\\fICOMMAND\\fR] ",
      "[\\fIOPTIONS\\fR] \\fIMODEL\\fR\n.SH DESCRIPTION\n", Plain(app.get_description()),
      "\n.SH COMMANDS\n");
  for (const CLI::App* command : commands) {
    absl::StrAppend(&page, ".TP\n\\fB", Plain(command->get_name()), "\\fR\n",
                    Plain(command->get_description()), ".\n");
  }
  page += ".SH OPTIONS\n";
  for (const Entry& entry : Entries(app)) page += ManualEntry(entry, commands.size());
  absl::StrAppend(&page, ".SH NOTES\n", Plain(app.get_footer()), "\n");
  return page;
}

std::string BashCompletion(const CLI::App& app) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : VisibleCommands(app)) {
    names.push_back(command->get_name());
    absl::StrAppend(&cases, "    ", command->get_name(), ") words='", OptionWords(*command),
                    "' ;;\n");
  }
  // Without a command the options are those of run.
  const std::string run = OptionWords(*app.get_subcommand("run"));
  return absl::StrCat("# bash completion for attnrun\n_attnrun() {\n",
                      "  local current=${COMP_WORDS[COMP_CWORD]} words\n",
                      "  case ${COMP_WORDS[1]} in\n", cases, "    *) words='", run, "' ;;\n",
                      "  esac\n  ((COMP_CWORD == 1)) && words='", absl::StrJoin(names, " "), " ",
                      OptionWords(app), "'\n",
                      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n",
                      "}\ncomplete -o default -F _attnrun attnrun\n");
}

}  // namespace attnrun::cli
