// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <deque>

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "generation/random.h"
#include "generation/scores.h"
#include "generation/search.h"

namespace attnrun::gen {
namespace {

// A sequence that grows.
struct Row {
  const Prompt* prompt;
  const Processors* processors;
  size_t place;
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

class RowSearch {
 public:
  RowSearch(Decoder& decoder, SearchContext& context, std::vector<GeneratedSequence>& sequences)
      : decoder_(decoder), context_(context), sequences_(sequences) {}

  absl::Status Run(const std::vector<Prompt>& prompts) {
    std::vector<TokenIds> ids;
    for (const Prompt& prompt : prompts) ids.push_back(prompt.ids);
    ATTNRUN_ASSIGN_OR_RETURN(Logits logits, ReadPrompts(decoder_, ids, context_));
    for (const Prompt& prompt : prompts) {
      ATTNRUN_RETURN_IF_ERROR(CheckVocabulary(context_.config, prompt, logits.vocabulary));
    }
    std::vector<int64_t> sources = Start(prompts);
    while (true) {
      ATTNRUN_RETURN_IF_ERROR(Advance(sources, logits));
      if (rows_.empty()) return absl::OkStatus();
      if (!IsAll(sources, decoder_rows_)) ATTNRUN_RETURN_IF_ERROR(decoder_.Select(sources));
      decoder_rows_ = sources.size();
      TokenIds last;
      for (const Row& row : rows_) last.push_back(row.ids.back());
      ATTNRUN_ASSIGN_OR_RETURN(logits, ReadNext(decoder_, last, context_));
      for (size_t i = 0; i < sources.size(); ++i) sources[i] = static_cast<int64_t>(i);
    }
  }

 private:
  // Makes the rows of each prompt; returns the row of the logits that each continues.
  std::vector<int64_t> Start(const std::vector<Prompt>& prompts) {
    const GenerationConfig& config = context_.config;
    std::vector<int64_t> sources;
    for (size_t p = 0; p < prompts.size(); ++p) {
      const Prompt& prompt = prompts[p];
      processors_.emplace_back(config, prompt.facts);
      for (int64_t i = 0; i < config.num_return_sequences; ++i) {
        // The stream depends on nothing but the sequence's number among those of its prompt.
        rows_.push_back({&prompt, &processors_.back(), prompt.place + i, prompt.ids,
                         Random(config.seed, static_cast<uint64_t>(i))});
        sequences_[prompt.place + i].prompt_tokens = prompt.facts.length;
        sources.push_back(static_cast<int64_t>(p));
      }
    }
    decoder_rows_ = prompts.size();
    return sources;
  }

  // Chooses a token for each row. Leaves those that go on, and their sources.
  absl::Status Advance(std::vector<int64_t>& sources, Logits& logits) {
    std::vector<Row> rows;
    std::vector<int64_t> left;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const absl::Span<const float> source = logits.row(sources[i]);
      std::vector<float> scores(source.begin(), source.end());
      ATTNRUN_ASSIGN_OR_RETURN(const bool ended, Choose(rows_[i], absl::MakeSpan(scores), source));
      if (ended) continue;
      rows.push_back(std::move(rows_[i]));
      left.push_back(sources[i]);
    }
    rows_ = std::move(rows);
    sources = std::move(left);
    return absl::OkStatus();
  }

  // Adds a token to the row. True if it is the last.
  absl::StatusOr<bool> Choose(Row& row, absl::Span<float> scores, absl::Span<const float> logits) {
    ATTNRUN_RETURN_IF_ERROR(row.processors->Apply(row.ids, scores));
    const size_t best = ArgMax(scores);
    if (scores[best] == kExcluded) {
      return absl::InvalidArgumentError("the settings exclude every token");
    }
    const size_t token = context_.config.do_sample ? Draw(scores, row.random) : best;
    GeneratedSequence& sequence = sequences_[row.place];
    sequence.score += logits[token] - LogSumExp(logits);
    if (context_.options.top_candidates > 0) {
      sequence.candidates.push_back(Candidates(scores, context_.options.top_candidates));
    }
    sequence.tokens.push_back(static_cast<int64_t>(token));
    row.ids.push_back(static_cast<int64_t>(token));
    if (context_.options.on_token) {
      context_.options.on_token(row.place, static_cast<int64_t>(token));
    }
    const PromptFacts& facts = row.prompt->facts;
    const bool stops = EndsWithStop(context_.config, row.ids, facts.length);
    sequence.finish = stops ? FinishReason::kStop : FinishReason::kLength;
    return stops || static_cast<int64_t>(row.ids.size()) >= facts.max_length ||
           IsTimeOver(context_);
  }

  // True if `rows` are the numbers from 0 to count - 1.
  static bool IsAll(const std::vector<int64_t>& rows, size_t count) {
    if (rows.size() != count) return false;
    for (size_t i = 0; i < count; ++i) {
      if (rows[i] != static_cast<int64_t>(i)) return false;
    }
    return true;
  }

  Decoder& decoder_;
  SearchContext& context_;
  std::vector<GeneratedSequence>& sequences_;
  // Rows point to them.
  std::deque<Processors> processors_;
  std::vector<Row> rows_;
  size_t decoder_rows_ = 0;
};

}  // namespace

absl::Status SearchRows(Decoder& decoder, const std::vector<Prompt>& prompts,
                        SearchContext& context, std::vector<GeneratedSequence>& sequences) {
  return RowSearch(decoder, context, sequences).Run(prompts);
}

}  // namespace attnrun::gen
