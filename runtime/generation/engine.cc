// SPDX-License-Identifier: Apache-2.0
#include "generation/engine.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/status.h"

namespace attnrun::gen {
namespace {

// The ids of a line that are certain.
TokenIds CertainIds(const Job::Line& line) {
  TokenIds ids = line.row->ids();
  ids.insert(ids.end(), line.unread.begin(), line.unread.end());
  return ids;
}

// How many ids of a prompt a step reads that has place for `room`.
size_t Piece(const Job& job, const Job::Line& line, size_t room, bool is_first) {
  // In pieces a row without a cache would read the same ids again and again.
  if (!line.row->has_cache() || line.row->reads_prompt_whole()) {
    return is_first || line.unread.size() <= room ? line.unread.size() : 0;
  }
  const auto most = static_cast<size_t>(job.settings().config.prefill_chunk_size);
  return std::min({line.unread.size(), room, most > 0 ? most : room});
}

bool IsInterrupt(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

bool Engine::Remove(const Meter& meter) {
  const auto is_of_meter = [&](const auto& job) { return &job->meter() == &meter; };
  return jobs_.remove_if(is_of_meter) > 0;
}

size_t Engine::num_rows() const {
  size_t rows = 0;
  for (const auto& job : jobs_) rows += job->most_rows();
  return rows;
}

absl::Status Engine::Step(const RunOptions& options, std::vector<End>& ended) {
  const absl::Time start = absl::Now();
  std::vector<Part> parts = Compose(ended);
  if (parts.empty()) return absl::OkStatus();
  ATTNRUN_RETURN_IF_ERROR(Guess(absl::MakeSpan(parts), options));
  for (const Part& part : parts) part.job->meter().step_bytes += part.line->row->byte_size();
  ATTNRUN_RETURN_IF_ERROR(Read(parts, options, ended));
  const absl::Duration time = absl::Now() - start;
  for (const Part& part : parts) {
    Meter& meter = part.job->meter();
    const auto certain = static_cast<int64_t>(part.ids.size() - part.guesses);
    (part.is_prompt ? meter.step_prompt_tokens : meter.step_decode_tokens) += certain;
  }
  for (const Part& part : parts) part.job->meter().EndStep(time);
  return absl::OkStatus();
}

std::vector<Engine::Part> Engine::Compose(std::vector<End>& ended) {
  size_t decodes = 0;
  for (const auto& job : jobs_) decodes += job->reads_prompt() ? 0 : job->lines().size();
  const auto most = static_cast<size_t>(options_.max_step_tokens);
  size_t room = most - std::min(most, decodes);
  bool is_first = true;
  std::vector<Part> parts;
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    Job& job = **next++;
    if (!job.reads_prompt()) {
      for (Job::Line& line : job.lines()) parts.push_back({&job, &line, false, line.unread});
      continue;
    }
    if (room == 0) continue;
    if (!job.has_started()) {
      if (const absl::Status status = StartJob(job); !status.ok()) Finish(job, status, ended);
      if (!job.has_started()) continue;
    }
    Job::Line& line = job.lines()[0];
    const size_t count = Piece(job, line, room, is_first);
    if (count == 0) continue;
    const auto begin = line.unread.begin();
    parts.push_back(
        {&job, &line, true, TokenIds(begin, begin + static_cast<std::ptrdiff_t>(count))});
    room -= std::min(room, count);
    is_first = false;
  }
  return parts;
}

// Leaves the job as it is if it is better to wait.
absl::Status Engine::StartJob(Job& job) {
  if (!job.shares_prefixes()) return job.Start(nullptr);
  const Row* alike = FindAlike(job);
  if (WaitsForAlike(job, alike == nullptr ? 0 : SharedPrefix(*alike, job.prompt()))) {
    return absl::OkStatus();
  }
  return job.Start(alike);
}

// The row, running or finished, that has read most of the first ids of a prompt.
const Row* Engine::FindAlike(const Job& job) {
  const Row* best = finished_.Find(job.prompt());
  int64_t most = best == nullptr ? 0 : SharedPrefix(*best, job.prompt());
  for (const auto& other : jobs_) {
    if (!other->shares_prefixes()) continue;
    for (const Job::Line& line : other->lines()) {
      const int64_t shared = SharedPrefix(*line.row, job.prompt());
      if (shared <= most) continue;
      most = shared;
      best = line.row.get();
    }
  }
  return best;
}

// True if an earlier job is about to read more of what both prompts begin with than `shared` ids.
bool Engine::WaitsForAlike(const Job& job, int64_t shared) const {
  constexpr int64_t kWorthAStep = 32;
  // The last id is read in any case.
  const absl::Span<const int64_t> ids =
      absl::MakeConstSpan(job.prompt()).first(job.prompt().size() - 1);
  for (const auto& other : jobs_) {
    if (other.get() == &job) return false;
    if (!other->reads_prompt() || !other->shares_prefixes()) continue;
    if (other->has_started()) {
      const Row& row = *other->lines()[0].row;
      if (!row.has_cache() || !row.can_rewind() || row.reads_prompt_whole()) continue;
    }
    if (CommonPrefix(ids, other->prompt()) >= shared + kWorthAStep) return true;
  }
  return false;
}

// Adds guesses to the parts that may have some.
absl::Status Engine::Guess(absl::Span<Part> parts, const RunOptions& options) const {
  // Drafted rows point to the ids.
  std::list<TokenIds> certain;
  std::vector<TokenIds> guesses(parts.size());
  std::vector<DraftedRow> drafted;
  for (size_t i = 0; i < parts.size(); ++i) {
    Job& job = *parts[i].job;
    Job::Line& line = *parts[i].line;
    const size_t most = job.MostGuesses(line);
    const GenerationConfig& config = job.settings().config;
    const bool looks_up = config.prompt_lookup_num_tokens.has_value();
    if (most == 0 || (!looks_up && draft_.decoder == nullptr)) continue;
    const TokenIds& ids = certain.emplace_back(CertainIds(line));
    if (looks_up) {
      guesses[i] = LookUp(ids, static_cast<size_t>(config.max_matching_ngram_size), most);
      continue;
    }
    if (static_cast<int64_t>(ids.size() + most) >= draft_.max_positions) continue;
    if (line.draft == nullptr) {
      ATTNRUN_ASSIGN_OR_RETURN(line.draft, draft_.new_row(job.Capacity()));
    }
    drafted.push_back({ids, most, line.draft.get(), &guesses[i]});
  }
  if (!drafted.empty()) {
    ATTNRUN_RETURN_IF_ERROR(Draft(*draft_.decoder, drafted, draft_.vocabulary, options));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].guesses = guesses[i].size();
    parts[i].ids.insert(parts[i].ids.end(), guesses[i].begin(), guesses[i].end());
  }
  return absl::OkStatus();
}

// Reads the parts together. Where that fails, reads those of each job alone, so that one job's
// fault is not another's.
absl::Status Engine::Read(absl::Span<const Part> parts, const RunOptions& options,
                          std::vector<End>& ended) {
  std::vector<Reading> readings;
  for (const Part& part : parts) {
    readings.push_back({part.line->row.get(), part.ids, static_cast<int64_t>(part.guesses) + 1});
  }
  absl::StatusOr<std::vector<Logits>> logits = decoder_.Read(readings, options);
  if (logits.ok()) {
    Advance(parts, *std::move(logits), ended);
    return absl::OkStatus();
  }
  if (IsInterrupt(logits.status())) return logits.status();
  if (parts.front().job == parts.back().job) {
    Finish(*parts.front().job, logits.status(), ended);
    return absl::OkStatus();
  }
  while (!parts.empty()) {
    const Job* job = parts.front().job;
    const auto end = absl::c_find_if(parts, [&](const Part& part) { return part.job != job; });
    const auto count = static_cast<size_t>(end - parts.begin());
    ATTNRUN_RETURN_IF_ERROR(Read(parts.first(count), options, ended));
    parts.remove_prefix(count);
  }
  return absl::OkStatus();
}

void Engine::Advance(absl::Span<const Part> parts, std::vector<Logits> logits,
                     std::vector<End>& ended) {
  for (size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    Job& job = *parts[begin].job;
    std::vector<RowLogits> rows;
    for (; end < parts.size() && parts[end].job == &job; ++end) {
      const Part& part = parts[end];
      TokenIds& unread = part.line->unread;
      const auto certain = static_cast<std::ptrdiff_t>(part.ids.size() - part.guesses);
      unread.erase(unread.begin(), unread.begin() + certain);
      rows.push_back({std::move(logits[end]), {part.ids.begin() + certain, part.ids.end()}});
      job.meter().guessed_tokens += static_cast<int64_t>(part.guesses);
    }
    // The rest of the prompt comes in the next steps.
    if (!job.lines()[0].unread.empty()) continue;
    absl::StatusOr<bool> is_over = job.Advance(rows);
    if (!is_over.ok() || *is_over) Finish(job, is_over.status(), ended);
  }
}

void Engine::Finish(Job& job, absl::Status status, std::vector<End>& ended) {
  const auto place = absl::c_find_if(
      jobs_, [&](const std::unique_ptr<Job>& other) { return other.get() == &job; });
  if (status.ok() && job.shares_prefixes()) finished_.Insert(std::move(job.lines()[0].row));
  // An exception must not leave a job's place empty.
  ended.reserve(ended.size() + 1);
  ended.push_back({std::move(*place), std::move(status)});
  jobs_.erase(place);
}

}  // namespace attnrun::gen
