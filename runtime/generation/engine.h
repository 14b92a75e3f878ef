// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_ENGINE_H_
#define ATTNRUN_GENERATION_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "generation/decoder.h"
#include "generation/guesses.h"
#include "generation/job.h"
#include "generation/prefix_cache.h"

namespace attnrun::gen {

// A smaller model that guesses the tokens of another.
struct DraftModel {
  // Null if there is none.
  const Decoder* decoder = nullptr;
  NewRow new_row;
  // The ids that it reads at most.
  int64_t max_positions = std::numeric_limits<int64_t>::max();
  // The number of ids of the model that it guesses for; negative if that is not known.
  int64_t vocabulary = -1;
};

struct EngineOptions {
  // The ids that one step reads, unless the rows that are beyond their prompts alone have more.
  int64_t max_step_tokens = 512;
  size_t prefix_cache_bytes = 0;
};

// Computes jobs step by step. A step reads one more token of each row that is beyond its prompt,
// and of the prompts, in order of arrival, as many ids as the step has place for. The tokens of a
// job do not depend on the other jobs. Used by one thread at a time.
class Engine {
 public:
  // The models must outlive it.
  Engine(const Decoder& decoder, DraftModel draft, const EngineOptions& options)
      : decoder_(decoder),
        draft_(std::move(draft)),
        options_(options),
        finished_(options.prefix_cache_bytes) {}

  // The end of a job: OK when its search is over.
  struct End {
    std::unique_ptr<Job> job;
    absl::Status status;
  };

  // Takes the first of `jobs`. Allocates nothing.
  void AddFirstOf(std::list<std::unique_ptr<Job>>& jobs) {
    jobs_.splice(jobs_.end(), jobs, jobs.begin());
  }

  // Removes the jobs of a meter. False if there are none.
  bool Remove(const Meter& meter);

  // The rows that the jobs may read at once.
  size_t num_rows() const;
  bool empty() const { return jobs_.empty(); }

  // Does one step, and appends the jobs that end with it. kCancelled and kDeadlineExceeded, as
  // `options` say: no job has changed.
  absl::Status Step(const RunOptions& options, std::vector<End>& ended);

 private:
  // The share of a line of a job in a step.
  struct Part {
    Job* job;
    Job::Line* line;
    bool is_prompt = false;
    // Certain ids, and guesses behind them.
    TokenIds ids;
    size_t guesses = 0;
  };

  std::vector<Part> Compose(std::vector<End>& ended);
  absl::Status StartJob(Job& job);
  const Row* FindAlike(const Job& job);
  bool WaitsForAlike(const Job& job, int64_t shared) const;
  absl::Status Guess(absl::Span<Part> parts, const RunOptions& options) const;
  absl::Status Read(absl::Span<const Part> parts, const RunOptions& options,
                    std::vector<End>& ended);
  void Advance(absl::Span<const Part> parts, std::vector<Logits> logits, std::vector<End>& ended);
  void Finish(Job& job, absl::Status status, std::vector<End>& ended);

  const Decoder& decoder_;
  const DraftModel draft_;
  const EngineOptions options_;
  PrefixCache finished_;
  // In order of arrival.
  std::list<std::unique_ptr<Job>> jobs_;
};

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_ENGINE_H_
