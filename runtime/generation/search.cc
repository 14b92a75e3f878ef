// SPDX-License-Identifier: Apache-2.0
#include "generation/search.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace attnrun::gen {

std::string NameOfPrompt(size_t number, size_t count) {
  return count == 1 ? "the prompt" : absl::StrCat("prompt ", number);
}

std::unique_ptr<Search> MakeSearch(const SearchSettings& settings, const Prompt& prompt) {
  if (settings.config.num_beams == 1) return MakeRowSearch(settings, prompt);
  if (settings.config.num_beam_groups == 1) return MakeBeamSearch(settings, prompt);
  return MakeGroupBeamSearch(settings, prompt);
}

bool EndsWithStop(const GenerationConfig& config, absl::Span<const int64_t> ids, int64_t prompt) {
  if (absl::c_linear_search(config.eos_token_id, ids.back())) return true;
  return absl::c_any_of(config.stop_sequences, [&](const TokenIds& stop) {
    const size_t size = stop.size();
    return ids.size() - prompt >= size && absl::c_equal(ids.last(size), stop);
  });
}

bool IsTimeOver(const SearchSettings& settings) {
  const std::optional<double> most = settings.config.max_time;
  return most.has_value() && absl::Now() - settings.start > absl::Seconds(*most);
}

}  // namespace attnrun::gen
