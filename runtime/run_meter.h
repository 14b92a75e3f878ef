// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_RUN_METER_H_
#define ATTNRUN_RUNTIME_RUN_METER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/metrics.h"
#include "core/exceptions.h"

namespace attnrun {

// Counts the runs of a session. Takes some tens of nanoseconds for each. Thread-safe.
class RunMeter {
 public:
  // A run from its call to its end.
  class Run {
   public:
    Run() : start_(Clock::now()) {}

    void BeginWait(RunMeter& meter);
    // Does nothing if it has ended.
    void EndWait(RunMeter& meter);

   private:
    friend class RunMeter;
    using Clock = std::chrono::steady_clock;

    const Clock::time_point start_;
    bool waits_ = false;
    Clock::time_point wait_start_;
    std::chrono::nanoseconds waited_{0};
  };

  // While it exists, a run computes.
  class Running {
   public:
    explicit Running(RunMeter& meter) : meter_(meter) { Add(meter_.running_, 1); }
    ~Running() { Add(meter_.running_, -1); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    RunMeter& meter_;
  };

  // Returns call(run), an absl::Status or StatusOr, and counts it. Never throws.
  template <typename Call>
  std::invoke_result_t<Call, Run&> Counted(Call call) {
    Run run;
    return Counted(run, std::move(call));
  }

  // As above, for a run that was called earlier.
  template <typename Call>
  std::invoke_result_t<Call, Run&> Counted(Run& run, Call call) {
    auto result = WithoutExceptions([&] { return call(run); });
    End(run, CodeOf(result));
    return result;
  }

  // Sets the members that count runs.
  void Read(SessionMetrics& metrics) const;

 private:
  using Counter = std::atomic<int64_t>;

  class Histogram {
   public:
    void Count(std::chrono::nanoseconds time);
    LatencyHistogram Read() const;

   private:
    std::array<Counter, LatencyHistogram::kBuckets> counts_ = {};
    Counter nanoseconds_ = 0;
  };

  static void Add(Counter& counter, int64_t number) {
    counter.fetch_add(number, std::memory_order_relaxed);
  }
  static absl::StatusCode CodeOf(const absl::Status& status) { return status.code(); }
  template <typename T>
  static absl::StatusCode CodeOf(const absl::StatusOr<T>& result) {
    return result.status().code();
  }
  void End(const Run& run, absl::StatusCode code);
  Counter& CounterOf(absl::StatusCode code);

  Counter succeeded_ = 0;
  Counter cancelled_ = 0;
  Counter deadline_exceeded_ = 0;
  Counter refused_ = 0;
  Counter failed_ = 0;
  Counter waiting_ = 0;
  Counter running_ = 0;
  Histogram latency_;
  Histogram wait_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_RUN_METER_H_
