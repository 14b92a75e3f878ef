// SPDX-License-Identifier: Apache-2.0
#include "generation/scheduler.h"

#include <condition_variable>
#include <deque>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/exceptions.h"
#include "core/status.h"

namespace attnrun::gen {
namespace {

using Token = std::pair<size_t, int64_t>;

double Rate(int64_t tokens, absl::Duration time) {
  const double seconds = absl::ToDoubleSeconds(time);
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
}

void Report(const Meter& meter, GenerationResult& result) {
  result.time_to_first_token = meter.first_token;
  result.prompt_tokens_per_second = Rate(meter.prompt_tokens, meter.prompt_time);
  result.decode_tokens_per_second = Rate(meter.decode_tokens, meter.decode_time);
  result.reused_tokens = meter.reused_tokens;
  result.guessed_tokens = meter.guessed_tokens;
  result.accepted_tokens = meter.accepted_tokens;
  result.state_bytes = meter.state_bytes;
}

}  // namespace

// A call of Run. Its jobs point to it.
struct Scheduler::Call {
  // One for each prompt.
  std::deque<SearchSettings> settings;
  std::vector<std::vector<GeneratedSequence>> sequences;
  Meter meter;
  // The prompts that are not over.
  size_t left = 0;
  absl::Status status;
  // Tokens of the present step, and those that the caller may take.
  std::vector<Token> fresh;
  std::vector<Token> mail;
  // The caller has left, but the engine may still use the call.
  bool is_abandoned = false;
  bool is_asleep = false;
  std::condition_variable wake;

  bool is_over() const { return left == 0 || !status.ok(); }
};

Scheduler::Scheduler(const Decoder& decoder, const DraftModel& draft,
                     const GeneratorOptions& options)
    : options_(options),
      engine_(decoder, draft, {options.max_step_tokens, options.prefix_cache_bytes}) {}

Scheduler::~Scheduler() = default;

absl::Status Scheduler::Run(std::vector<Task> tasks, const SearchSettings& settings,
                            const RunOptions& run,
                            const std::function<void(size_t, int64_t)>& on_token,
                            GenerationResult& result) {
  if (!calls_.Enter()) {
    return absl::FailedPreconditionError(
        "this process was forked while another thread used the generator: load it anew here");
  }
  const absl::Cleanup end = [this] { calls_.Leave(); };
  const auto call = std::make_shared<Call>();
  const auto sequences = static_cast<size_t>(settings.config.num_return_sequences);
  call->settings.resize(tasks.size(), settings);
  call->sequences.resize(tasks.size());
  call->meter.start = settings.start;
  for (size_t i = 0; i < tasks.size() && on_token; ++i) {
    call->settings[i].on_token = [call = call.get(), first = i * sequences](int64_t sequence,
                                                                            int64_t token) {
      call->fresh.emplace_back(first + static_cast<size_t>(sequence), token);
    };
  }
  ATTNRUN_RETURN_IF_ERROR(Enter(call, std::move(tasks)));
  const absl::Cleanup leave = [&] { Leave(call); };
  ATTNRUN_RETURN_IF_ERROR(Drive(call, run, on_token));
  for (std::vector<GeneratedSequence>& of_prompt : call->sequences) {
    absl::c_move(of_prompt, std::back_inserter(result.sequences));
  }
  Report(call->meter, result);
  return absl::OkStatus();
}

absl::Status Scheduler::Enter(const std::shared_ptr<Call>& call, std::vector<Task> tasks) {
  std::list<std::unique_ptr<Job>> jobs;
  for (size_t i = 0; i < tasks.size(); ++i) {
    Task& task = tasks[i];
    jobs.push_back(std::make_unique<Job>(i, std::move(task.prompt), std::move(task.new_row),
                                         task.shares_prefixes, call->settings[i], call->meter));
  }
  call->left = jobs.size();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (static_cast<int64_t>(waiting_.size()) >= options_.max_waiting) {
    return absl::UnavailableError(
        absl::StrCat("the request cannot wait for others: ", waiting_.size(),
                     " prompts do, and the limit is ", options_.max_waiting));
  }
  callers_.push_back(call);
  waiting_.splice(waiting_.end(), jobs);
  return absl::OkStatus();
}

absl::Status Scheduler::Drive(const std::shared_ptr<Call>& call, const RunOptions& run,
                              const std::function<void(size_t, int64_t)>& on_token) {
  Interrupt interrupt(run.deadline, run.cancel);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (!call->mail.empty()) {
      const std::vector<Token> mail = std::exchange(call->mail, {});
      lock.unlock();
      for (const auto& [sequence, token] : mail) on_token(sequence, token);
      lock.lock();
      continue;
    }
    if (call->is_over()) return call->status;
    if (interrupt.Check()) return interrupt.status();
    if (!is_led_) {
      Lead(call, run, lock);
      // Others go on while this caller has something else to do.
      if (!call->mail.empty() || call->is_over()) WakeOne();
      continue;
    }
    call->is_asleep = true;
    const absl::Duration patience = interrupt.Patience();
    if (patience == absl::InfiniteDuration()) {
      call->wake.wait(lock);
    } else {
      call->wake.wait_for(lock, absl::ToChronoNanoseconds(patience));
    }
    call->is_asleep = false;
  }
}

// Does one step for all calls.
void Scheduler::Lead(const std::shared_ptr<Call>& call, const RunOptions& run,
                     std::unique_lock<std::mutex>& lock) {
  is_led_ = true;
  while (!waiting_.empty()) {
    const size_t rows = engine_.num_rows() + waiting_.front()->most_rows();
    if (!engine_.empty() && rows > static_cast<size_t>(options_.max_rows)) break;
    engine_.AddFirstOf(waiting_);
  }
  lock.unlock();
  std::vector<Engine::End> ended;
  const absl::Status status = WithoutExceptions([&] { return engine_.Step(run, ended); });
  lock.lock();
  is_led_ = false;
  Settle(std::move(ended));
  if (absl::IsCancelled(status) || absl::IsDeadlineExceeded(status)) {
    call->status = status;
  } else if (!status.ok()) {
    // The step ended somewhere in its midst, so that no job is as it should be.
    for (const auto& other : callers_) {
      if (engine_.Remove(other->meter)) other->status = status;
    }
  }
  for (const auto& other : callers_) {
    if (other->is_over() || !other->mail.empty()) other->wake.notify_one();
  }
}

// Hands tokens and the results of jobs to their calls, and drops what nobody waits for.
void Scheduler::Settle(std::vector<Engine::End> ended) {
  for (Engine::End& end : ended) {
    const auto place = absl::c_find_if(
        callers_, [&](const auto& other) { return &other->meter == &end.job->meter(); });
    Call& call = **place;
    --call.left;
    // A call that finds no memory for its results fails alone.
    call.status.Update(WithoutExceptions([&]() -> absl::Status {
      if (end.status.ok()) {
        call.sequences[end.job->number()] = end.job->TakeSequences();
        return absl::OkStatus();
      }
      return Annotate(end.status, NameOfPrompt(end.job->number(), call.sequences.size()));
    }));
  }
  callers_.remove_if([&](const std::shared_ptr<Call>& call) {
    if (call->is_abandoned) engine_.Remove(call->meter);
    call->status.Update(WithoutExceptions([&] {
      absl::c_copy(call->fresh, std::back_inserter(call->mail));
      return absl::OkStatus();
    }));
    call->fresh.clear();
    return call->is_abandoned;
  });
}

void Scheduler::Leave(const std::shared_ptr<Call>& call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.remove_if([&](const auto& job) { return &job->meter() == &call->meter; });
  // The thread that leads drops the jobs behind its step.
  call->is_abandoned = is_led_ && call->left > 0;
  if (call->is_abandoned) return;
  if (call->left > 0) engine_.Remove(call->meter);
  callers_.remove(call);
  WakeOne();
}

// Wakes a caller to lead if nobody does. Those that are awake will see by themselves.
void Scheduler::WakeOne() {
  if (is_led_) return;
  const auto next = absl::c_find_if(
      callers_, [](const auto& call) { return call->is_asleep && !call->is_over(); });
  if (next != callers_.end()) (*next)->wake.notify_one();
}

}  // namespace attnrun::gen
