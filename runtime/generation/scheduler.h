// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_SCHEDULER_H_
#define ATTNRUN_GENERATION_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/generator.h"
#include "core/fork.h"
#include "core/interrupt.h"
#include "generation/engine.h"

namespace attnrun::gen {

// A prompt that a call brings.
struct Task {
  Prompt prompt;
  NewRow new_row;
  bool shares_prefixes = true;
};

// Lets the calls of many threads share an engine. One of the calling threads does the steps for all
// of them, and the others sleep; when its own call is over, another takes its place. Thread-safe.
class Scheduler {
 public:
  // The engine reads at most `max_rows` rows at once; more prompts wait, at most `max_waiting`.
  Scheduler(const Decoder& decoder, const DraftModel& draft, const GeneratorOptions& options);
  ~Scheduler();

  // Searches for continuations of the prompts, and sets the sequences of all prompts in their
  // order. `on_token` is called on this thread with the number of a sequence and its next token; it
  // may be empty. kCancelled or kDeadlineExceeded as `run` says; kUnavailable if too many prompts
  // wait.
  absl::Status Run(std::vector<Task> tasks, const SearchSettings& settings, const RunOptions& run,
                   const std::function<void(size_t, int64_t)>& on_token, GenerationResult& result);

 private:
  struct Call;

  absl::Status Drive(const std::shared_ptr<Call>& call, const RunOptions& run,
                     const std::function<void(size_t, int64_t)>& on_token);
  absl::Status Enter(const std::shared_ptr<Call>& call, std::vector<Task> tasks);
  void Leave(const std::shared_ptr<Call>& call);
  void Lead(const std::shared_ptr<Call>& call, const RunOptions& run,
            std::unique_lock<std::mutex>& lock);
  void Settle(std::vector<Engine::End> ended);
  void WakeOne();

  const GeneratorOptions options_;
  CallCount calls_;
  std::mutex mutex_;
  // True while a thread uses the engine. All that follows is guarded by the mutex.
  bool is_led_ = false;
  std::list<std::shared_ptr<Call>> callers_;
  std::list<std::unique_ptr<Job>> waiting_;
  // Used by the thread that leads, or under the mutex while none does.
  Engine engine_;
};

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_SCHEDULER_H_
