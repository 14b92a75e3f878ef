// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/bisect.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/progress.h"
#include "tools/attnrun/table.h"

namespace attnrun::cli {
namespace {

absl::StatusOr<Session> LoadWith(const Options& options, int64_t rewrites) {
  SessionOptions limited = options.session;
  limited.max_rewrites = rewrites;
  return Session::Load(options.model, limited);
}

// Cuts long lists, since a branch of an If that is inlined has hundreds of nodes.
std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  const size_t shown = std::min(names.size(), kShown);
  std::string text = absl::StrJoin(names.begin(), names.begin() + shown, ", ");
  if (shown == names.size()) return text;
  return absl::StrCat(text, " and ", names.size() - shown, " more");
}

}  // namespace

int64_t AppliedRewrites(const Session& session) {
  const std::vector<Rewrite>& all = session.Rewrites();
  return std::count_if(all.begin(), all.end(), [](const Rewrite& one) { return one.applied; });
}

absl::StatusOr<Culprit> FindCulprit(const Options& options, int64_t rewrites, Differs differs) {
  Progress progress;
  Culprit culprit;
  culprit.rewrites = rewrites;
  const auto differs_with = [&](int64_t count) -> absl::StatusOr<bool> {
    progress.Show(absl::StrCat("bisecting: ", count, " of ", rewrites, " rewrites"));
    ATTNRUN_ASSIGN_OR_RETURN(const Session session, LoadWith(options, count));
    return differs(session);
  };
  ATTNRUN_ASSIGN_OR_RETURN(const bool without_any, differs_with(0));
  if (without_any) return culprit;
  // The model agrees with `good` rewrites and differs with `bad`.
  int64_t good = 0;
  int64_t bad = rewrites;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    ATTNRUN_ASSIGN_OR_RETURN(const bool differing, differs_with(middle));
    (differing ? bad : good) = middle;
  }
  culprit.number = bad;
  ATTNRUN_ASSIGN_OR_RETURN(const Session session, LoadWith(options, bad));
  for (const Rewrite& rewrite : session.Rewrites()) {
    if (rewrite.applied) culprit.rewrite = rewrite;
  }
  return culprit;
}

std::string Describe(const Culprit& culprit, absl::string_view verb) {
  if (culprit.number == 0) {
    return absl::StrCat(verb,
                        " without any rewrite, so a kernel is the cause; --max-rewrites 0 compares "
                        "every value\n");
  }
  const Rewrite& rewrite = culprit.rewrite;
  Table table("lll");
  table.Add({"", "pass", rewrite.pass});
  if (!rewrite.body.empty()) table.Add({"", "in", rewrite.body});
  table.Add({"", "replaced", Listed(rewrite.nodes)});
  table.Add({"", "with", Listed(rewrite.into)});
  return absl::StrCat(verb, " with rewrite ", culprit.number, " of ", culprit.rewrites,
                      ", but not with only those before it:\n", table.Text());
}

Json ToJson(const Culprit& culprit) {
  Json json = {{"rewrites", culprit.rewrites}, {"number", culprit.number}};
  if (culprit.number == 0) return json;
  json["pass"] = culprit.rewrite.pass;
  json["body"] = culprit.rewrite.body;
  json["nodes"] = culprit.rewrite.nodes;
  json["into"] = culprit.rewrite.into;
  return json;
}

}  // namespace attnrun::cli
