// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/attnrun/commands.h"
#include "tools/attnrun/json.h"

namespace attnrun::cli {
namespace {

constexpr char kIntroduction[] =
    "# Optimizer passes\n"
    "\n"
    "Written by `attnrun passes > docs/passes.md`; a test holds this page against the program.\n"
    "\n"
    "The optimizer runs phases of rewrites, in the order of this page. The rewrites of a phase "
    "are\n"
    "applied until none finds anything to do. `clean_up` runs first, and again wherever rewrites\n"
    "have changed the graph. All phases are repeated until the whole pipeline finds nothing to "
    "do.\n"
    "A name in the first column is what reports print and what `--disable` and `--stop-after` "
    "take.\n"
    "Names in parentheses are earlier ones, which these options still take.\n"
    "A rewrite starts from nodes of the operators in the third column. Each file opens with a\n"
    "drawing of the graph before and after.\n";

Json ToJson(const PassInfo& pass) {
  return {{"pass", pass.name},       {"phase", pass.phase},     {"summary", pass.summary},
          {"anchors", pass.anchors}, {"aliases", pass.aliases}, {"file", pass.file}};
}

// "`name`" or "`name` (`old`, `older`)".
std::string NamesOf(const PassInfo& pass) {
  std::string names = absl::StrCat("`", pass.name, "`");
  if (pass.aliases.empty()) return names;
  return absl::StrCat(names, " (`", absl::StrJoin(pass.aliases, "`, `"), "`)");
}

std::string Row(const PassInfo& pass) {
  const std::string anchors = pass.anchors.empty() ? "any" : absl::StrJoin(pass.anchors, ", ");
  const std::string file = pass.file.substr(pass.file.rfind('/') + 1);
  return absl::StrCat("| ", NamesOf(pass), " | ", pass.summary, " | ", anchors, " | [", file,
                      "](../", pass.file, ") |\n");
}

void PrintPage(const std::vector<PassInfo>& passes) {
  std::cout << kIntroduction;
  std::string phase;
  for (const PassInfo& pass : passes) {
    if (pass.phase != phase) {
      phase = pass.phase;
      std::cout << "\n## " << phase << "\n\n| pass | rewrite | starts from | file |\n"
                << "| --- | --- | --- | --- |\n";
    }
    std::cout << Row(pass);
  }
}

}  // namespace

absl::StatusOr<int> ListPasses(const Options& options) {
  const std::vector<PassInfo> passes = DescribePasses();
  if (!options.json) {
    PrintPage(passes);
    return kFine;
  }
  Json list = Json::array();
  for (const PassInfo& pass : passes) list.push_back(ToJson(pass));
  PrintJson(list);
  return kFine;
}

}  // namespace attnrun::cli
