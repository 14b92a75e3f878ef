// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_JOB_H_
#define ATTNRUN_GENERATION_JOB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "generation/decoder.h"
#include "generation/search.h"

namespace attnrun::gen {

// Time and number of the tokens that the jobs of one call have read and made.
struct Meter {
  absl::Time start = absl::Now();
  absl::Duration first_token = absl::InfiniteDuration();
  absl::Duration prompt_time;
  absl::Duration decode_time;
  // Without reused ones.
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;
  int64_t decode_tokens = 0;
  int64_t guessed_tokens = 0;
  int64_t accepted_tokens = 0;
  // The most that its rows took at once.
  size_t state_bytes = 0;

  // The same of the present step.
  int64_t step_prompt_tokens = 0;
  int64_t step_decode_tokens = 0;
  size_t step_bytes = 0;

  // Ends a step that took `time`.
  void EndStep(absl::Duration time);
};

// Makes a row that has read nothing, with memory for `capacity` ids.
using NewRow = std::function<absl::StatusOr<std::unique_ptr<Row>>(int64_t capacity)>;

// A prompt, its search, and the rows that the search reads.
class Job {
 public:
  // `number` is its place among the jobs of its call. The settings and the meter must outlive it.
  Job(size_t number, Prompt prompt, NewRow new_row, bool shares_prefixes,
      const SearchSettings& settings, Meter& meter);

  // A row, and what it is to read.
  struct Line {
    std::unique_ptr<Row> row;
    // The row of the draft model; null until the first guess.
    std::unique_ptr<Row> draft;
    // The ids that are certain and not read yet.
    TokenIds unread;
    // The most guesses in the next step.
    size_t most_guesses = 0;
  };

  size_t number() const { return number_; }
  const TokenIds& prompt() const { return prompt_.ids; }
  const SearchSettings& settings() const { return settings_; }
  // True until the whole prompt is read.
  bool reads_prompt() const { return reads_prompt_; }
  bool has_started() const { return !lines_.empty(); }
  // True if other rows with the same ids are the same.
  bool shares_prefixes() const { return shares_prefixes_; }
  // The most rows that the search may read at once.
  size_t most_rows() const;
  // The ids for which a row takes memory at once.
  int64_t Capacity() const;
  std::vector<Line>& lines() { return lines_; }
  Meter& meter() { return meter_; }

  // Makes the first row; a clone of `like` if that is not null and has read some of the prompt.
  absl::Status Start(const Row* like);

  // Hands the logits of all rows to the search, and prepares the rows that go on. True at the end.
  absl::StatusOr<bool> Advance(absl::Span<const RowLogits> rows);

  std::vector<GeneratedSequence> TakeSequences() { return search_->TakeSequences(); }

  // How many guesses may go behind the certain ids of a line.
  size_t MostGuesses(const Line& line) const;

 private:
  size_t AllowedGuesses() const;
  void Count(int64_t tokens);
  absl::StatusOr<Line> Continue(const Continuation& continuation, bool is_last_use);

  const size_t number_;
  const Prompt prompt_;
  const NewRow new_row_;
  const bool shares_prefixes_;
  const SearchSettings& settings_;
  Meter& meter_;
  const std::unique_ptr<Search> search_;
  std::vector<Line> lines_;
  bool reads_prompt_ = true;
};

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_JOB_H_
