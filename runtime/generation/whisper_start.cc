// SPDX-License-Identifier: Apache-2.0
#include "generation/whisper_start.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "generation/languages.h"

namespace attnrun::gen {
namespace {

absl::StatusOr<int64_t> TaskId(const std::string& task, const GenerationConfig& config) {
  const auto found = config.task_to_id.find(task);
  if (found != config.task_to_id.end()) return found->second;
  return absl::InvalidArgumentError(
      absl::StrCat("task: expected a name in task_to_id, but found ", Quoted(task)));
}

// The language as <|de|>, de or german.
absl::StatusOr<int64_t> LanguageId(const std::string& language, const GenerationConfig& config) {
  const std::string name = absl::AsciiStrToLower(language);
  const std::string token =
      absl::StartsWith(name, "<|") ? name : absl::StrCat("<|", LanguageCode(name), "|>");
  const auto found = config.lang_to_id.find(token);
  if (found != config.lang_to_id.end()) return found->second;
  return absl::InvalidArgumentError(
      absl::StrCat("language: expected one whose token is in lang_to_id, but found ",
                   Quoted(language), ", whose token is ", token));
}

}  // namespace

absl::StatusOr<TokenIds> WhisperStart(int64_t start, const GenerationConfig& config,
                                      absl::FunctionRef<absl::StatusOr<int64_t>()> detect) {
  std::vector<std::optional<int64_t>> ids = {start};
  if (!config.language.has_value() && !config.task.has_value()) {
    for (const auto& [position, id] : config.forced_decoder_ids) ids.push_back(id);
  }
  // The language follows the start.
  if (ids.size() == 1) ids.emplace_back();
  if (config.language.has_value()) {
    ATTNRUN_ASSIGN_OR_RETURN(ids[1], LanguageId(*config.language, config));
  } else if (!ids[1].has_value() && !config.lang_to_id.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(ids[1], detect());
  }
  if (config.task.has_value()) {
    ATTNRUN_ASSIGN_OR_RETURN(ids.emplace_back(), TaskId(*config.task, config));
  } else if (config.language.has_value() && !config.task_to_id.empty()) {
    ATTNRUN_ASSIGN_OR_RETURN(ids.emplace_back(), TaskId("transcribe", config));
  }
  TokenIds known;
  for (const std::optional<int64_t>& id : ids) {
    if (id.has_value()) known.push_back(*id);
  }
  const std::optional<int64_t> none = config.no_timestamps_token_id;
  if (!none.has_value()) return known;
  const bool says_none = known.back() == *none;
  if (config.return_timestamps && says_none) known.pop_back();
  if (!config.return_timestamps && !says_none) known.push_back(*none);
  return known;
}

absl::StatusOr<int64_t> MostProbableLanguage(const Logits& logits, const GenerationConfig& config) {
  for (const auto& [name, id] : config.lang_to_id) {
    if (id >= 0 && id < logits.vocabulary) continue;
    return absl::InvalidArgumentError(absl::StrCat("lang_to_id: expected ids from 0 to ",
                                                   logits.vocabulary - 1, ", but found ", id,
                                                   " for ", Quoted(name)));
  }
  const auto best = absl::c_max_element(config.lang_to_id, [&](const auto& a, const auto& b) {
    return logits.at(0)[a.second] < logits.at(0)[b.second];
  });
  return best->second;
}

}  // namespace attnrun::gen
