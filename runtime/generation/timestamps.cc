// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/algorithm/container.h"
#include "generation/processor.h"
#include "generation/scores.h"

// Whisper's timestamps are the tokens behind <|notimestamps|>, in the order of time. They come in
// pairs, except right before the end, never go back, and one comes first.
namespace attnrun::gen {
namespace {

void ExcludeRange(absl::Span<float> scores, int64_t first, int64_t end) {
  const auto size = static_cast<int64_t>(scores.size());
  for (int64_t i = std::max<int64_t>(first, 0); i < std::min(end, size); ++i) {
    scores[i] = kExcluded;
  }
}

// Excludes timestamps or text as the last two tokens demand, and timestamps that would go back.
void ExcludeByLast(absl::Span<const int64_t> tokens, int64_t first_timestamp, int64_t end_token,
                   absl::Span<float> scores) {
  const auto is_timestamp = [&](int64_t token) { return token >= first_timestamp; };
  const auto size = static_cast<int64_t>(scores.size());
  const bool after_one = !tokens.empty() && is_timestamp(tokens.back());
  const bool after_two = tokens.size() < 2 || is_timestamp(tokens[tokens.size() - 2]);
  if (after_one && after_two) ExcludeRange(scores, first_timestamp, size);
  if (after_one && !after_two) ExcludeRange(scores, 0, end_token);
  const auto last = std::find_if(tokens.rbegin(), tokens.rend(), is_timestamp);
  if (last == tokens.rend()) return;
  // The second of a pair may repeat the first.
  ExcludeRange(scores, first_timestamp, after_one && !after_two ? *last : *last + 1);
}

}  // namespace

Processor OrderTimestamps(const GenerationConfig& config, int64_t prompt_length) {
  const int64_t no_timestamps = *config.no_timestamps_token_id;
  const int64_t first = no_timestamps + 1;
  const int64_t end =
      config.eos_token_id.empty() ? config.bos_token_id.value_or(0) : config.eos_token_id[0];
  const std::optional<int64_t> most = config.max_initial_timestamp_index;
  return [=](absl::Span<const int64_t> ids, absl::Span<float> scores) {
    const auto size = static_cast<int64_t>(scores.size());
    if (first >= size) return;
    ExcludeRange(scores, no_timestamps, first);
    ExcludeByLast(ids.subspan(prompt_length), first, end, scores);
    if (static_cast<int64_t>(ids.size()) == prompt_length) {
      ExcludeRange(scores, 0, first);
      if (most.has_value()) ExcludeRange(scores, first + *most + 1, size);
    }
    // Timestamps that are together more probable than any text exclude the text.
    const auto text = scores.first(first);
    if (LogSumExp(scores.subspan(first)) > *absl::c_max_element(text)) {
      ExcludeRange(scores, 0, first);
    }
  };
}

}  // namespace attnrun::gen
