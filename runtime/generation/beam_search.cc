// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "generation/beams.h"
#include "generation/random.h"
#include "generation/scores.h"
#include "generation/search.h"

// The beam search of transformers since version 4.50, on single-precision scores as there.
namespace attnrun::gen {
namespace {

struct Beam {
  TokenIds ids;
  float score = kWorst;
  bool finished = false;
  bool stopped = false;
  // The row of the decoder that it continues.
  int64_t source = 0;
};

// Draws `count` indices without putting them back: the largest of score + Gumbel noise.
std::vector<int64_t> Drawn(absl::Span<const float> scores, size_t count, Random& random) {
  std::vector<float> noisy(scores.begin(), scores.end());
  for (float& score : noisy) {
    if (score == kExcluded) continue;
    const double uniform = random.Uniform() + 0x1p-54;
    score = static_cast<float>(score - std::log(-std::log(uniform)));
  }
  return Largest(noisy, count);
}

std::vector<Beam> Best(const std::vector<Beam>& beams, size_t count) {
  std::vector<float> scores;
  for (const Beam& beam : beams) scores.push_back(beam.score);
  std::vector<Beam> best;
  for (const int64_t i : Largest(scores, count)) best.push_back(beams[i]);
  return best;
}

class BeamSearch : public Search {
 public:
  BeamSearch(const SearchSettings& settings, const Prompt& prompt)
      : settings_(settings),
        prompt_(prompt),
        config_(settings.config),
        beams_(static_cast<size_t>(config_.num_beams)),
        kept_(std::max<size_t>(2, 1 + config_.eos_token_id.size()) * beams_),
        processors_(config_, prompt.facts),
        random_(config_.seed, 0),
        running_(beams_),
        finished_(beams_) {
    for (Beam& beam : running_) beam.ids = prompt.ids;
    // The beams are equal before the first token, so only one of them counts.
    running_[0].score = 0;
    for (Beam& beam : finished_) beam.ids = prompt.ids;
  }

  bool takes_guesses() const override { return false; }

  int64_t num_tokens() const override { return num_tokens_; }

  absl::StatusOr<std::vector<Continuation>> Advance(absl::Span<const RowLogits> rows) override {
    if (is_first_) {
      ATTNRUN_RETURN_IF_ERROR(CheckVocabulary(config_, prompt_, rows[0].logits.vocabulary));
    }
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Beam> candidates, Continue(rows));
    UpdateRunning(candidates);
    UpdateFinished(candidates);
    num_tokens_ += static_cast<int64_t>(beams_);
    std::vector<Continuation> continuations;
    if (IsOver(candidates)) return continuations;
    for (const Beam& beam : running_) {
      // After the prompt there is one row, which all beams continue.
      continuations.push_back({is_first_ ? 0 : static_cast<size_t>(beam.source),
                               static_cast<int64_t>(beam.ids.size()) - 1, beam.ids.back()});
    }
    is_first_ = false;
    return continuations;
  }

  std::vector<GeneratedSequence> TakeSequences() override {
    std::vector<GeneratedSequence> sequences(config_.num_return_sequences);
    for (size_t i = 0; i < sequences.size(); ++i) {
      const Beam& beam = finished_[i];
      GeneratedSequence& sequence = sequences[i];
      sequence.prompt_tokens = prompt_.facts.length;
      sequence.tokens.assign(beam.ids.begin() + prompt_.facts.length, beam.ids.end());
      sequence.score = beam.score;
      sequence.finish = beam.stopped ? FinishReason::kStop : FinishReason::kLength;
    }
    return sequences;
  }

 private:
  // The number of new tokens so far.
  int64_t Generated() const {
    return static_cast<int64_t>(running_[0].ids.size()) - prompt_.facts.length;
  }

  float Penalty(int64_t length) const {
    return static_cast<float>(std::pow(static_cast<double>(length), config_.length_penalty));
  }

  absl::StatusOr<std::vector<float>> Scores(absl::Span<const RowLogits> rows) const {
    std::vector<BeamLogits> beams;
    for (size_t b = 0; b < beams_; ++b) {
      beams.push_back({running_[b].ids, running_[b].score, rows[is_first_ ? 0 : b].logits.at(0)});
    }
    return ScoreContinuations(beams, processors_, [](absl::Span<float>) {});
  }

  // The best continuations, as many as leave num_beams that do not end.
  absl::StatusOr<std::vector<Beam>> Continue(absl::Span<const RowLogits> rows) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<float> scores, Scores(rows));
    const std::vector<int64_t> chosen =
        config_.do_sample ? Drawn(scores, kept_, random_) : Largest(scores, kept_);
    const int64_t vocabulary = rows[0].logits.vocabulary;
    const bool time_over = IsTimeOver(settings_);
    std::vector<Beam> candidates;
    for (const int64_t index : chosen) {
      Beam beam;
      beam.source = index / vocabulary;
      beam.ids = running_[beam.source].ids;
      beam.ids.push_back(index % vocabulary);
      beam.score = scores[index];
      beam.stopped = EndsWithStop(config_, beam.ids, prompt_.facts.length);
      beam.finished = beam.stopped || time_over ||
                      static_cast<int64_t>(beam.ids.size()) >= prompt_.facts.max_length;
      candidates.push_back(std::move(beam));
    }
    return candidates;
  }

  void UpdateRunning(std::vector<Beam> candidates) {
    for (Beam& beam : candidates) {
      if (beam.finished) beam.score += kWorst;
    }
    running_ = Best(candidates, beams_);
  }

  // Only the best num_beams candidates may finish; the others stand by to go on.
  void UpdateFinished(std::vector<Beam> candidates) {
    const bool full = absl::c_all_of(finished_, [](const Beam& beam) { return beam.finished; });
    const float penalty = Penalty(Generated());
    for (size_t i = 0; i < candidates.size(); ++i) {
      Beam& beam = candidates[i];
      beam.finished = beam.finished && i < beams_;
      beam.score /= penalty;
      if (full && config_.early_stopping == EarlyStopping::kAtOnce) beam.score += kWorst;
      if (!can_improve_) beam.score += kWorst;
      if (!beam.finished) beam.score += kWorst;
    }
    std::vector<Beam> merged = finished_;
    merged.insert(merged.end(), candidates.begin(), candidates.end());
    finished_ = Best(merged, beams_);
  }

  // True if the best running beam may still beat a finished one.
  bool CanImprove() const {
    const int64_t length = LengthToCompare(config_, prompt_.facts, Generated());
    const float best = running_[0].score / Penalty(length);
    float least = finished_[0].score;
    for (const Beam& beam : finished_) least = std::min(least, beam.score);
    return absl::c_any_of(
        finished_, [&](const Beam& beam) { return best > (beam.finished ? least : kWorst); });
  }

  bool IsOver(const std::vector<Beam>& candidates) {
    const auto is_finished = [](const Beam& beam) { return beam.finished; };
    can_improve_ = can_improve_ && CanImprove();
    return !can_improve_ ||
           (absl::c_all_of(finished_, is_finished) &&
            config_.early_stopping == EarlyStopping::kAtOnce) ||
           absl::c_all_of(candidates, is_finished);
  }

  const SearchSettings& settings_;
  const Prompt prompt_;
  const GenerationConfig& config_;
  const size_t beams_;
  const size_t kept_;
  const Processors processors_;
  Random random_;
  std::vector<Beam> running_;
  std::vector<Beam> finished_;
  int64_t num_tokens_ = 0;
  bool can_improve_ = true;
  bool is_first_ = true;
};

}  // namespace

std::unique_ptr<Search> MakeBeamSearch(const SearchSettings& settings, const Prompt& prompt) {
  return std::make_unique<BeamSearch>(settings, prompt);
}

}  // namespace attnrun::gen
