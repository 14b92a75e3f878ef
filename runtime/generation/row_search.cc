// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "generation/random.h"
#include "generation/scores.h"
#include "generation/search.h"

namespace attnrun::gen {
namespace {

// A sequence that grows.
struct Sequence {
  // Its number among those of the prompt.
  int64_t number;
  TokenIds ids;
  Random random;
};

// A token with a probability in proportion to e^score.
size_t Draw(absl::Span<const float> scores, Random& random) {
  const float largest = *absl::c_max_element(scores);
  double total = 0;
  for (const float score : scores) total += std::exp(static_cast<double>(score) - largest);
  double left = random.Uniform() * total;
  size_t drawn = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp(static_cast<double>(scores[i]) - largest);
    if (weight == 0) continue;
    drawn = i;
    left -= weight;
    if (left < 0) break;
  }
  return drawn;
}

std::vector<std::pair<int64_t, float>> Candidates(absl::Span<const float> scores, int64_t most) {
  std::vector<float> logs(scores.begin(), scores.end());
  LogSoftmax(absl::MakeSpan(logs));
  std::vector<std::pair<int64_t, float>> candidates;
  for (const int64_t id : Ranked(logs, static_cast<size_t>(most))) {
    candidates.emplace_back(id, logs[id]);
  }
  return candidates;
}

class RowSearch : public Search {
 public:
  RowSearch(const SearchSettings& settings, const Prompt& prompt)
      : settings_(settings), prompt_(prompt), processors_(settings.config, prompt.facts) {
    for (int64_t i = 0; i < settings.config.num_return_sequences; ++i) {
      // The stream depends on nothing but the sequence's number among those of its prompt.
      running_.push_back({i, prompt.ids, Random(settings.config.seed, static_cast<uint64_t>(i))});
      sequences_.emplace_back().prompt_tokens = prompt.facts.length;
    }
  }

  // As long as nothing is drawn for a guess that was wrong, drawn tokens are those without guesses.
  bool takes_guesses() const override { return true; }

  int64_t num_tokens() const override { return num_tokens_; }

  absl::StatusOr<std::vector<Continuation>> Advance(absl::Span<const RowLogits> rows) override {
    if (is_first_) {
      ATTNRUN_RETURN_IF_ERROR(
          CheckVocabulary(settings_.config, prompt_, rows[0].logits.vocabulary));
    }
    std::vector<Sequence> running;
    std::vector<Continuation> continuations;
    for (size_t i = 0; i < running_.size(); ++i) {
      // All sequences continue the prompt's row.
      const size_t source = is_first_ ? 0 : i;
      ATTNRUN_ASSIGN_OR_RETURN(const std::optional<int64_t> read,
                               Follow(running_[i], rows[source]));
      if (!read.has_value()) continue;
      continuations.push_back({source, *read, running_[i].ids.back()});
      running.push_back(std::move(running_[i]));
    }
    running_ = std::move(running);
    is_first_ = false;
    return continuations;
  }

  std::vector<GeneratedSequence> TakeSequences() override { return std::move(sequences_); }

 private:
  // Adds the next token and, as long as guesses were right, those behind it. Returns how many ids
  // the row has read rightly; nullopt if the sequence is over.
  absl::StatusOr<std::optional<int64_t>> Follow(Sequence& sequence, const RowLogits& row) {
    auto read = static_cast<int64_t>(sequence.ids.size());
    for (size_t i = 0;; ++i, ++read) {
      ATTNRUN_ASSIGN_OR_RETURN(const bool ended, Choose(sequence, row.logits.at(i)));
      if (ended) return std::nullopt;
      if (i == row.guesses.size() || row.guesses[i] != sequence.ids.back()) return read;
    }
  }

  // The scores of the token behind the ids, until the next call.
  absl::StatusOr<absl::Span<const float>> Processed(absl::Span<const int64_t> ids,
                                                    absl::Span<const float> logits) {
    if (processors_.empty()) {
      ATTNRUN_RETURN_IF_ERROR(CheckScores(logits));
      return logits;
    }
    scores_.assign(logits.begin(), logits.end());
    ATTNRUN_RETURN_IF_ERROR(processors_.Apply(ids, absl::MakeSpan(scores_)));
    return scores_;
  }

  // Adds a token to the sequence. True if it is the last.
  absl::StatusOr<bool> Choose(Sequence& running, absl::Span<const float> logits) {
    ATTNRUN_ASSIGN_OR_RETURN(const absl::Span<const float> scores, Processed(running.ids, logits));
    const size_t best = ArgMax(scores);
    if (scores[best] == kExcluded) {
      return absl::InvalidArgumentError("the settings exclude every token");
    }
    const size_t token = settings_.config.do_sample ? Draw(scores, running.random) : best;
    GeneratedSequence& sequence = sequences_[running.number];
    sequence.score += logits[token] - LogSumExp(logits);
    if (settings_.top_candidates > 0) {
      sequence.candidates.push_back(Candidates(scores, settings_.top_candidates));
    }
    sequence.tokens.push_back(static_cast<int64_t>(token));
    running.ids.push_back(static_cast<int64_t>(token));
    ++num_tokens_;
    if (settings_.on_token) settings_.on_token(running.number, static_cast<int64_t>(token));
    const bool stops = EndsWithStop(settings_.config, running.ids, prompt_.facts.length);
    sequence.finish = stops ? FinishReason::kStop : FinishReason::kLength;
    return stops || static_cast<int64_t>(running.ids.size()) >= prompt_.facts.max_length ||
           IsTimeOver(settings_);
  }

  const SearchSettings& settings_;
  const Prompt prompt_;
  const Processors processors_;
  std::vector<Sequence> running_;
  std::vector<GeneratedSequence> sequences_;
  // Kept for its memory.
  std::vector<float> scores_;
  int64_t num_tokens_ = 0;
  bool is_first_ = true;
};

}  // namespace

std::unique_ptr<Search> MakeRowSearch(const SearchSettings& settings, const Prompt& prompt) {
  return std::make_unique<RowSearch>(settings, prompt);
}

}  // namespace attnrun::gen
