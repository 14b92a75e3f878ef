// SPDX-License-Identifier: Apache-2.0
#include "generation/audio_windows.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/algorithm/container.h"

namespace attnrun::gen {
namespace {

// Appends elements from `begin` to `end` of one list to another.
template <typename T>
void AppendRange(const std::vector<T>& from, size_t begin, size_t end, std::vector<T>& to) {
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(std::min(begin, from.size()));
  const auto last = from.begin() + static_cast<std::ptrdiff_t>(std::min(end, from.size()));
  to.insert(to.end(), first, last);
}

}  // namespace

WindowEnd EndOfWindow(absl::Span<const int64_t> tokens, std::optional<int64_t> first_timestamp,
                      int64_t frames) {
  constexpr int64_t kFramesPerTimestamp = 2;
  const WindowEnd all = {static_cast<int64_t>(tokens.size()), frames};
  if (!first_timestamp.has_value()) return all;
  const auto is_timestamp = [&](int64_t token) { return token >= *first_timestamp; };
  // The end of the last piece of speech, right before the timestamp that begins another one.
  size_t end = tokens.size();
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (is_timestamp(tokens[i]) && is_timestamp(tokens[i + 1])) end = i;
  }
  if (end == tokens.size()) return all;
  const size_t last = tokens.size() - 1;
  if (is_timestamp(tokens[last]) && !is_timestamp(tokens[last - 1])) return all;
  const int64_t read = (tokens[end] - *first_timestamp) * kFramesPerTimestamp;
  // Where speech ends before it begins, another window would be the same.
  return {static_cast<int64_t>(end) + 2, read > 0 ? read : frames};
}

int64_t AppendWindow(const GeneratedSequence& window, const GenerationConfig& config,
                     int64_t frames, int64_t left, GeneratedSequence& whole) {
  absl::Span<const int64_t> speech = window.tokens;
  const bool stops = window.finish == FinishReason::kStop && !speech.empty() &&
                     absl::c_linear_search(config.eos_token_id, speech.back());
  if (stops) speech.remove_suffix(1);
  std::optional<int64_t> first_timestamp;
  if (config.no_timestamps_token_id.has_value()) {
    first_timestamp = *config.no_timestamps_token_id + 1;
  }
  const WindowEnd end = EndOfWindow(speech, first_timestamp, frames);
  const auto kept = static_cast<size_t>(end.tokens);
  AppendRange(window.tokens, 0, kept, whole.tokens);
  AppendRange(window.candidates, 0, kept, whole.candidates);
  whole.score += window.score;
  whole.finish = window.finish;
  if (stops && end.frames >= left) {
    AppendRange(window.tokens, speech.size(), speech.size() + 1, whole.tokens);
    AppendRange(window.candidates, speech.size(), speech.size() + 1, whole.candidates);
  }
  return end.frames;
}

}  // namespace attnrun::gen
