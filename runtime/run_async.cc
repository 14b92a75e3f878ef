// SPDX-License-Identifier: Apache-2.0
// Session::RunAsync.
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "core/exceptions.h"
#include "core/status.h"
#include "execution/run_scope.h"
#include "outputs.h"
#include "session_impl.h"

namespace attnrun {

// A run that nobody waits for.
struct Session::Impl::AsyncRun {
  AsyncRun(TensorMap wanted, RunCallback callback, const RunOptions& given)
      : options(given),
        interrupt(given.deadline, given.cancel),
        outputs(std::move(wanted)),
        done(std::move(callback)) {}

  RunMeter::Run meter;
  const RunOptions options;
  Interrupt interrupt;
  exec::RunBuffers buffers;
  TensorMap outputs;
  RunCallback done;
};

Session::Impl::~Impl() {
  PendingRuns* const pending = pending_.Find();
  if (pending != nullptr) pending->AwaitNone();
}

absl::Status Session::Impl::RunAsync(const TensorMap& inputs, TensorMap outputs, RunCallback done,
                                     const RunOptions& options) {
  return WithoutExceptions([&]() -> absl::Status {
    const auto run = std::make_shared<AsyncRun>(std::move(outputs), std::move(done), options);
    absl::Status posted = WithoutExceptions([&] { return Post(run, inputs); });
    if (posted.ok()) return posted;
    return meter_.Counted(run->meter, [&](RunMeter::Run&) { return posted; });
  });
}

absl::Status Session::Impl::Post(const std::shared_ptr<AsyncRun>& run, const TensorMap& inputs) {
  if (run->done == nullptr) {
    return absl::InvalidArgumentError("expected a function that receives the result, found none");
  }
  if (run->options.observer) {
    return absl::InvalidArgumentError("a run that nobody waits for cannot be observed");
  }
  ATTNRUN_RETURN_IF_ERROR(CheckWanted(outputs_, run->outputs));
  run->buffers.inputs.resize(inputs_.size());
  ATTNRUN_RETURN_IF_ERROR(Bind(inputs, run->buffers.inputs));
  PendingRuns& pending = pending_.Get();
  ATTNRUN_RETURN_IF_ERROR(EnterCall());
  pending.Add();
  run->meter.BeginWait(meter_);
  absl::Cleanup undo = [&] {
    run->meter.EndWait(meter_);
    pending.Remove();
    calls_.Leave();
  };
  ATTNRUN_RETURN_IF_ERROR(queue().Post(threads_, limits_.waiting_runs,
                                       [this, run](exec::RunPermits& own) { Finish(*run, own); }));
  std::move(undo).Cancel();
  return absl::OkStatus();
}

void Session::Impl::Finish(AsyncRun& run, exec::RunPermits& own) {
  {
    const exec::RunScope scope(this, queue(), own.held());
    auto result = meter_.Counted(run.meter, [&](RunMeter::Run& meter) -> absl::StatusOr<TensorMap> {
      meter.EndWait(meter_);
      const RunMeter::Running running(meter_);
      ATTNRUN_RETURN_IF_ERROR(WithAllocator(run.options, [&](Allocator& allocator) {
        return exec::Execute(*plan_, run.buffers,
                             ContextOf(run.options, {run.interrupt, allocator, &own}));
      }));
      ATTNRUN_RETURN_IF_ERROR(Deliver(outputs_, run.buffers.outputs, run.outputs));
      return std::move(run.outputs);
    });
    run.buffers = {};
    calls_.Leave();
    run.done(std::move(result));
    run.done = nullptr;
  }
  pending_.Get().Remove();
}

}  // namespace attnrun
