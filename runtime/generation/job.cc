// SPDX-License-Identifier: Apache-2.0
#include "generation/job.h"

#include <algorithm>
#include <utility>

#include "core/status.h"
#include "generation/prefix_cache.h"

namespace attnrun::gen {

void Meter::EndStep(absl::Duration time) {
  const int64_t tokens = step_prompt_tokens + step_decode_tokens;
  if (tokens > 0) {
    prompt_time += time * step_prompt_tokens / tokens;
    decode_time += time * step_decode_tokens / tokens;
  }
  prompt_tokens += step_prompt_tokens;
  state_bytes = std::max(state_bytes, step_bytes);
  step_prompt_tokens = 0;
  step_decode_tokens = 0;
  step_bytes = 0;
}

Job::Job(size_t number, Prompt prompt, NewRow new_row, bool shares_prefixes,
         const SearchSettings& settings, Meter& meter)
    : number_(number),
      prompt_(std::move(prompt)),
      new_row_(std::move(new_row)),
      shares_prefixes_(shares_prefixes),
      settings_(settings),
      meter_(meter),
      search_(MakeSearch(settings, prompt_)) {}

size_t Job::most_rows() const {
  return static_cast<size_t>(
      std::max(settings_.config.num_beams, settings_.config.num_return_sequences));
}

// A row that outgrows its memory takes more, so a large max_length costs nothing in advance.
int64_t Job::Capacity() const {
  constexpr int64_t kNew = 4096;
  return std::min(prompt_.facts.max_length, prompt_.facts.length + kNew);
}

absl::Status Job::Start(const Row* like) {
  Line line;
  // The last id is read in any case: its logits are needed.
  const auto most = static_cast<int64_t>(prompt_.ids.size()) - 1;
  const int64_t shared =
      like == nullptr ? 0 : SharedPrefix(*like, absl::MakeConstSpan(prompt_.ids).first(most));
  if (shared > 0) {
    ATTNRUN_ASSIGN_OR_RETURN(line.row, like->Clone(shared, Capacity()));
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(line.row, new_row_(Capacity()));
  }
  meter_.reused_tokens += shared;
  line.unread.assign(prompt_.ids.begin() + shared, prompt_.ids.end());
  line.most_guesses = AllowedGuesses();
  lines_.push_back(std::move(line));
  return absl::OkStatus();
}

absl::StatusOr<bool> Job::Advance(absl::Span<const RowLogits> rows) {
  const int64_t before = search_->num_tokens();
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Continuation> next, search_->Advance(rows));
  Count(search_->num_tokens() - before);
  reads_prompt_ = false;
  // At the end the rows stay, for others that begin alike.
  if (next.empty()) return true;
  std::vector<size_t> uses(lines_.size(), 0);
  for (const Continuation& continuation : next) ++uses[continuation.source];
  std::vector<Line> lines;
  for (const Continuation& continuation : next) {
    const size_t source = continuation.source;
    const auto guesses = static_cast<int64_t>(rows[source].guesses.size());
    const int64_t wrong =
        static_cast<int64_t>(lines_[source].row->ids().size()) - continuation.length;
    ATTNRUN_ASSIGN_OR_RETURN(Line line, Continue(continuation, --uses[source] == 0));
    // Twice as many guesses after right ones, and one more than were right after wrong ones.
    if (guesses > 0) {
      const int64_t wanted = wrong == 0 ? 2 * guesses : guesses - wrong + 1;
      line.most_guesses = std::min(static_cast<size_t>(wanted), AllowedGuesses());
    }
    lines.push_back(std::move(line));
  }
  lines_ = std::move(lines);
  return false;
}

// Takes note of the tokens that a step has chosen.
void Job::Count(int64_t tokens) {
  if (reads_prompt_) {
    meter_.first_token = std::min(meter_.first_token, absl::Now() - meter_.start);
    return;
  }
  meter_.decode_tokens += tokens;
  meter_.accepted_tokens += tokens - static_cast<int64_t>(lines_.size());
}

absl::StatusOr<Job::Line> Job::Continue(const Continuation& continuation, bool is_last_use) {
  Line& source = lines_[continuation.source];
  Line line;
  line.unread = {continuation.token};
  line.most_guesses = source.most_guesses;
  if (!is_last_use) {
    ATTNRUN_ASSIGN_OR_RETURN(line.row, source.row->Clone(continuation.length, Capacity()));
    return line;
  }
  if (continuation.length < static_cast<int64_t>(source.row->ids().size())) {
    ATTNRUN_RETURN_IF_ERROR(source.row->Rewind(continuation.length));
  }
  line.row = std::move(source.row);
  line.draft = std::move(source.draft);
  return line;
}

size_t Job::AllowedGuesses() const {
  const GenerationConfig& config = settings_.config;
  return static_cast<size_t>(config.prompt_lookup_num_tokens.value_or(config.num_assistant_tokens));
}

size_t Job::MostGuesses(const Line& line) const {
  if (reads_prompt_ || !search_->takes_guesses() || !line.row->reads_guesses()) return 0;
  const auto length = static_cast<int64_t>(line.row->ids().size() + line.unread.size());
  // The last token is not read.
  const int64_t room = prompt_.facts.max_length - length - 1;
  return std::min(line.most_guesses, static_cast<size_t>(std::max<int64_t>(0, room)));
}

}  // namespace attnrun::gen
