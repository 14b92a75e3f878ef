// SPDX-License-Identifier: Apache-2.0
#include "state/name_match.h"

#include <array>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace attnrun::state {
namespace {

// The words of a name but those that tell old from new.
std::vector<std::string> WordsOf(absl::string_view name) {
  static constexpr std::array<absl::string_view, 13> kOldOrNew = {
      "past", "present", "prev",  "previous", "next",    "new",    "old",
      "in",   "out",     "input", "output",   "updated", "initial"};
  // All keys and values of a model are one group, which some exporters name.
  const std::string text =
      absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"key_values", ""}, {"key_value", ""}});
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (absl::ascii_isalnum(c)) {
      words.back() += c;
    } else {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) {
    return word.empty() || absl::c_linear_search(kOldOrNew, word);
  });
  return words;
}

// "h" and "hn", "h0" and "hn", "state" and "staten".
bool WordsMatch(absl::string_view input, absl::string_view output) {
  return input == output || output == absl::StrCat(absl::StripSuffix(input, "0"), "n");
}

}  // namespace

bool NamesMatch(absl::string_view input, absl::string_view output) {
  const std::vector<std::string> a = WordsOf(input);
  const std::vector<std::string> b = WordsOf(output);
  return !a.empty() && absl::c_equal(a, b, WordsMatch);
}

}  // namespace attnrun::state
