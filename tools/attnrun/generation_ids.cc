// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/generation_ids.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/quote.h"
#include "core/status.h"
#include "tools/attnrun/json.h"

namespace attnrun::cli {
namespace {

absl::StatusOr<std::vector<TokenIds>> ParseJsonLists(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  std::vector<TokenIds> lists;
  for (const Json& item : json) {
    if (!item.is_array()) break;
    TokenIds& ids = lists.emplace_back();
    for (const Json& id : item) {
      if (!id.is_number_integer()) break;
      ids.push_back(id.get<int64_t>());
    }
    if (ids.empty() || ids.size() != item.size()) lists.clear();
  }
  if (!lists.empty() && lists.size() == json.size()) return lists;
  return absl::InvalidArgumentError("expected a JSON list of lists of ids");
}

}  // namespace

absl::StatusOr<TokenIds> ParseIds(absl::string_view text) {
  const auto fail = [](const std::string& found) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ids separated by commas, but found ", found));
  };
  if (absl::StripAsciiWhitespace(text).empty()) return fail("none");
  TokenIds ids;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(part, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) return fail("none beside a comma");
    for (const absl::string_view word : words) {
      if (!absl::SimpleAtoi(word, &ids.emplace_back())) return fail(Quoted(word));
    }
  }
  return ids;
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  constexpr std::streamsize kMostBytes = 64 << 20;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a file, but it is a folder"));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  // A pipe has no size to be asked for.
  std::string text;
  std::string piece(1 << 16, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    text.append(piece, 0, static_cast<size_t>(file.gcount()));
    if (static_cast<std::streamsize>(text.size()) <= kMostBytes) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": it has more than ", kMostBytes, " bytes, which is the limit"));
  }
  if (file.bad()) return absl::DataLossError(absl::StrCat(path, ": cannot be read"));
  return text;
}

absl::StatusOr<std::vector<TokenIds>> ReadIdsFile(const std::string& path) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  // Some editors write a byte order mark.
  const absl::string_view lines = absl::StripPrefix(text, "\xEF\xBB\xBF");
  if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(lines), "[")) {
    absl::StatusOr<std::vector<TokenIds>> lists = ParseJsonLists(lines);
    if (!lists.ok()) return Annotate(lists.status(), path);
    return lists;
  }
  std::vector<TokenIds> lists;
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    absl::StatusOr<TokenIds> ids = ParseIds(line);
    if (!ids.ok()) return Annotate(ids.status(), absl::StrCat(path, ":", number));
    lists.push_back(*std::move(ids));
  }
  if (lists.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a prompt in each line"));
  }
  return lists;
}

}  // namespace attnrun::cli
