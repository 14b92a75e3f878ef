// SPDX-License-Identifier: Apache-2.0
// The help, and the manual page and completion for packages, which must have all that it has.
#include <set>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tools/command_line.h"

namespace attnrun::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The first words of the lines that the help indents: commands or options, without short forms.
std::set<std::string> Listed(const std::string& help, bool options) {
  std::set<std::string> names;
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    if (line.size() < 3 || line.substr(0, 2) != "  " || line[2] == ' ') continue;
    std::string name(line.substr(2, line.find(' ', 2) - 2));
    if ((name[0] == '-') != options || name == "MODEL") continue;
    names.insert(name.substr(name.find("--") == std::string::npos ? 0 : name.find("--")));
  }
  return names;
}

TEST_F(CommandLineTest, HelpIsWrapped) {
  for (const char* const arguments : {"--help", "run --help", "compare --help", "bench --help"}) {
    const std::string help = Attnrun(arguments).out;
    for (const absl::string_view line : absl::StrSplit(help, '\n')) {
      EXPECT_LE(line.size(), 100U) << line;
    }
  }
}

TEST_F(CommandLineTest, ManualAndCompletionHaveAllCommandsAndOptions) {
  const std::string manual = absl::StrReplaceAll(Attnrun("manual").out, {{"\\-", "-"}});
  const std::string completion = Attnrun("completion").out;
  const std::set<std::string> commands = Listed(Attnrun("--help").out, false);
  EXPECT_GE(commands.size(), 8U);
  for (const std::string& command : commands) {
    EXPECT_THAT(manual, HasSubstr("\n\\fB" + command + "\\fR\n"));
    const size_t begin = completion.find("\n    " + command + ") words='");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string words = completion.substr(begin, completion.find(";;", begin) - begin);
    const std::set<std::string> options = Listed(Attnrun(command + " --help").out, true);
    EXPECT_THAT(options, Not(IsEmpty()));
    for (std::string option : options) {
      option = option.substr(0, option.find_first_of("{ "));
      EXPECT_THAT(manual, HasSubstr(option)) << command;
      EXPECT_THAT(words, HasSubstr(option)) << command;
    }
  }
  EXPECT_THAT(Attnrun("--help").out, Not(HasSubstr("completion")));
}

TEST_F(CommandLineTest, TheCompletionIsBash) {
  WriteAll(folder_ / "completion", Attnrun("completion").out);
  const std::string script = "bash -c 'source \"" + (folder_ / "completion").string() +
                             "\"; COMP_WORDS=(attnrun bench --sw); COMP_CWORD=2; _attnrun; "
                             "[[ ${COMPREPLY[*]} == --sweep ]]'";
  // NOLINTNEXTLINE(bugprone-command-processor): the words are the test's own.
  EXPECT_EQ(std::system(script.c_str()), 0);
}

TEST_F(CommandLineTest, InspectShowsTheModelsNotes) {
  onnx::ModelProto model = MakeModel();
  auto* note = model.add_metadata_props();
  note->set_key("labels");
  note->set_value("cat\ndog");
  model.set_doc_string("Tells cats from dogs");
  model.set_model_version(7);
  WriteAll(folder_ / "notes.onnx", model.SerializeAsString());
  const std::string text = Attnrun("inspect notes.onnx").out;
  EXPECT_THAT(text, HasSubstr("description  Tells cats from dogs"));
  EXPECT_THAT(text, HasSubstr("labels"));
  const auto json = nlohmann::json::parse(Attnrun("inspect notes.onnx --json").out);
  EXPECT_EQ(json["metadata"]["labels"], "cat\ndog");
  EXPECT_EQ(json["model_version"], 7);
}

}  // namespace
}  // namespace attnrun::cli
