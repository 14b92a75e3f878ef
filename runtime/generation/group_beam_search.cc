// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "core/status.h"
#include "generation/beams.h"
#include "generation/scores.h"
#include "generation/search.h"

// Diverse beam search (Vijayakumar et al. 2018) as in transformers up to version 4.56: groups of
// beams choose one after another, and a token costs more in a group if earlier groups have chosen
// it in the same step.
namespace attnrun::gen {
namespace {

struct GroupBeam {
  TokenIds ids;
  float score = kWorst;
  // The row that it continues.
  size_t source = 0;
};

struct Finished {
  TokenIds ids;
  double score;
  bool stopped;
};

struct Group {
  std::vector<GroupBeam> running;
  std::vector<Finished> finished;
  bool is_done = false;
};

class GroupBeamSearch : public Search {
 public:
  GroupBeamSearch(const SearchSettings& settings, const Prompt& prompt)
      : settings_(settings),
        prompt_(prompt),
        config_(settings.config),
        beams_(static_cast<size_t>(config_.num_beams / config_.num_beam_groups)),
        processors_(config_, prompt.facts),
        groups_(static_cast<size_t>(config_.num_beam_groups)) {
    for (Group& group : groups_) {
      group.running.resize(beams_);
      for (GroupBeam& beam : group.running) beam.ids = prompt.ids;
      // The beams of a group are equal before the first token, so only one of them counts.
      group.running[0].score = 0;
    }
  }

  bool takes_guesses() const override { return false; }

  int64_t num_tokens() const override { return num_tokens_; }

  absl::StatusOr<std::vector<Continuation>> Advance(absl::Span<const RowLogits> rows) override {
    if (length_ == 0) {
      ATTNRUN_RETURN_IF_ERROR(CheckVocabulary(config_, prompt_, rows[0].logits.vocabulary));
    }
    ++length_;
    std::vector<int64_t> times(rows[0].logits.vocabulary, 0);
    std::vector<Continuation> continuations;
    for (Group& group : groups_) {
      if (group.is_done) {
        // In transformers a group that is done chooses padding.
        const int64_t padding = Padding();
        if (padding >= 0 && padding < rows[0].logits.vocabulary) {
          times[padding] += static_cast<int64_t>(beams_);
        }
        continue;
      }
      ATTNRUN_RETURN_IF_ERROR(Choose(rows, times, group));
      for (GroupBeam& beam : group.running) {
        ++times[beam.ids.back()];
        const auto read = static_cast<int64_t>(beam.ids.size()) - 1;
        const size_t row = continuations.size();
        continuations.push_back({beam.source, read, beam.ids.back()});
        beam.source = row;
      }
      // A group that is done now has no rows in the next step.
      if (group.is_done) continuations.resize(continuations.size() - beams_);
    }
    num_tokens_ += static_cast<int64_t>(rows.size());
    const bool is_longest = prompt_.facts.length + length_ >= prompt_.facts.max_length;
    if (is_longest || IsTimeOver(settings_)) continuations.clear();
    return continuations;
  }

  std::vector<GeneratedSequence> TakeSequences() override {
    std::vector<Finished> all;
    for (Group& group : groups_) {
      if (!group.is_done) {
        for (const GroupBeam& beam : group.running) Finish(beam.ids, beam.score, false, group);
      }
      absl::c_move(group.finished, std::back_inserter(all));
    }
    // The last of equal sequences comes first, as in transformers.
    absl::c_reverse(all);
    absl::c_stable_sort(all,
                        [](const Finished& a, const Finished& b) { return a.score > b.score; });
    std::vector<GeneratedSequence> sequences(config_.num_return_sequences);
    for (size_t i = 0; i < sequences.size() && i < all.size(); ++i) {
      sequences[i].prompt_tokens = prompt_.facts.length;
      sequences[i].tokens.assign(all[i].ids.begin() + prompt_.facts.length, all[i].ids.end());
      sequences[i].score = all[i].score;
      sequences[i].finish = all[i].stopped ? FinishReason::kStop : FinishReason::kLength;
    }
    return sequences;
  }

 private:
  // -1 if there is none.
  int64_t Padding() const {
    const int64_t end = config_.eos_token_id.empty() ? -1 : config_.eos_token_id[0];
    return config_.pad_token_id.value_or(end);
  }

  double Penalized(double score, int64_t length) const {
    return score / std::pow(static_cast<double>(length), config_.length_penalty);
  }

  // The scores of all continuations of a group's beams. Earlier groups have chosen token t times[t]
  // times.
  absl::StatusOr<std::vector<float>> Scores(absl::Span<const RowLogits> rows,
                                            absl::Span<const int64_t> times,
                                            const Group& group) const {
    std::vector<BeamLogits> beams;
    for (const GroupBeam& beam : group.running) {
      beams.push_back({beam.ids, beam.score, rows[beam.source].logits.at(0)});
    }
    return ScoreContinuations(beams, processors_, [&](absl::Span<float> scores) {
      for (size_t t = 0; t < scores.size(); ++t) {
        scores[t] -= static_cast<float>(config_.diversity_penalty * static_cast<double>(times[t]));
      }
    });
  }

  // Continues the beams of a group by the best tokens, or ends it.
  absl::Status Choose(absl::Span<const RowLogits> rows, absl::Span<const int64_t> times,
                      Group& group) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<float> scores, Scores(rows, times, group));
    const size_t kept = std::max<size_t>(2, 1 + config_.eos_token_id.size()) * beams_;
    const std::vector<int64_t> chosen = Largest(scores, kept);
    const auto vocabulary = static_cast<int64_t>(times.size());
    std::vector<GroupBeam> running;
    for (size_t rank = 0; rank < chosen.size() && running.size() < beams_; ++rank) {
      const GroupBeam& source = group.running[chosen[rank] / vocabulary];
      GroupBeam beam{source.ids, scores[chosen[rank]], source.source};
      beam.ids.push_back(chosen[rank] % vocabulary);
      if (!EndsWithStop(config_, beam.ids, prompt_.facts.length)) {
        running.push_back(std::move(beam));
      } else if (rank < beams_) {
        // Only the best candidates may finish; the others stand by to go on.
        Finish(beam.ids, beam.score, true, group);
      }
    }
    if (running.size() < beams_) {
      return absl::InvalidArgumentError("too few tokens are left for the beams to go on");
    }
    group.running = std::move(running);
    group.is_done = IsDone(scores[chosen[0]], group);
    return absl::OkStatus();
  }

  // Keeps a sequence if it is among the best of its group.
  void Finish(const TokenIds& ids, double score, bool stopped, Group& group) const {
    const auto length = static_cast<int64_t>(ids.size()) - prompt_.facts.length;
    const Finished finished{ids, Penalized(score, length), stopped};
    if (group.finished.size() == beams_) {
      const auto worst = absl::c_min_element(
          group.finished, [](const Finished& a, const Finished& b) { return a.score < b.score; });
      if (finished.score <= worst->score) return;
      group.finished.erase(worst);
    }
    group.finished.push_back(finished);
  }

  // True if no running beam can beat a finished one, or need not.
  bool IsDone(double best, const Group& group) const {
    if (group.finished.size() < beams_) return false;
    if (config_.early_stopping == EarlyStopping::kAtOnce) return true;
    const int64_t length = LengthToCompare(config_, prompt_.facts, length_);
    return absl::c_all_of(group.finished, [&](const Finished& finished) {
      return finished.score >= Penalized(best, length);
    });
  }

  const SearchSettings& settings_;
  const Prompt prompt_;
  const GenerationConfig& config_;
  // The beams of each group.
  const size_t beams_;
  const Processors processors_;
  std::vector<Group> groups_;
  // The tokens of each running beam.
  int64_t length_ = 0;
  int64_t num_tokens_ = 0;
};

}  // namespace

std::unique_ptr<Search> MakeGroupBeamSearch(const SearchSettings& settings, const Prompt& prompt) {
  return std::make_unique<GroupBeamSearch>(settings, prompt);
}

}  // namespace attnrun::gen
