// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_SESSION_IMPL_H_
#define ATTNRUN_RUNTIME_SESSION_IMPL_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/session.h"
#include "core/cpu_set.h"
#include "core/fork.h"
#include "core/interrupt.h"
#include "execution/executor.h"
#include "execution/joins.h"
#include "execution/plan.h"
#include "execution/pool_allocator.h"
#include "execution/run_queue.h"
#include "inputs.h"
#include "loader/loader.h"
#include "pending_runs.h"
#include "run_meter.h"
#include "state/initial_shapes.h"
#include "state_impl.h"
#include "state_layout.h"

namespace attnrun {

// Does the work of a Session, whose functions say what each of these takes, gives and refuses.
class __attribute__((visibility("hidden"))) Session::Impl {
 public:
  // `bytes` are those of a model without files.
  static absl::StatusOr<std::unique_ptr<Impl>> Make(loader::Model model, absl::string_view bytes,
                                                    const SessionOptions& options);
  Impl(loader::Model model, int threads, const SessionOptions& options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // An undefined tensor under the name of each output.
  TensorMap AllOutputs() const;
  absl::Status RunAsync(const TensorMap& inputs, TensorMap outputs, RunCallback done,
                        const RunOptions& options);
  absl::Status Run(const TensorMap& inputs, TensorMap& outputs, const RunOptions& options);
  absl::StatusOr<std::unique_ptr<State::Impl>> NewState(const StateOptions& options) const;
  absl::StatusOr<size_t> StateBytes(const StateOptions& options) const;
  absl::StatusOr<std::unique_ptr<State::Impl>> LoadState(const std::string& path,
                                                         int64_t capacity) const;
  absl::StatusOr<TensorMap> Step(const TensorMap& inputs, State& state, const RunOptions& options);
  absl::StatusOr<std::vector<TensorMap>> RunTogether(absl::Span<const Request> requests,
                                                     const RunOptions& options);
  absl::StatusOr<PrecisionReport> MeasurePrecision(const TensorMap& inputs,
                                                   const RunOptions& options);
  SessionMetrics Metrics() const;

  const std::vector<ValueInfo>& inputs() const { return inputs_; }
  const std::vector<ValueInfo>& outputs() const { return outputs_; }
  const std::vector<StateValue>& state_values() const { return layout_->values; }
  const loader::Model& model() const { return model_; }
  const Graph& graph() const { return *model_.graph; }
  const std::vector<Rewrite>& rewrites() const { return rewrites_; }
  const exec::Plan& plan() const { return *plan_; }
  Precision precision() const { return precision_; }
  int threads() const { return threads_; }

 private:
  // A run has these while it computes. `permits` is null if it has those of the run around it, an
  // observer's.
  struct Resources {
    Interrupt& interrupt;
    Allocator& allocator;
    exec::RunPermits* permits;
  };
  using Body = absl::FunctionRef<absl::Status(const Resources&)>;

  // Optimizes the graph and plans its runs.
  absl::Status Prepare(absl::string_view bytes, const SessionOptions& options);

  // How steps run for several requests, found at the first call.
  absl::Span<const exec::Join> Joins();
  // A plan of the same graph with kernels in float32, made at the first call.
  absl::StatusOr<const exec::Plan*> Float32Plan();

  // Checks what is given, and puts it in order. `inputs` has the values of a state already.
  absl::Status Bind(const TensorMap& given, std::vector<Tensor>& inputs) const;
  // The inputs of `buffers` are undefined but for those of a state. Its outputs receive one tensor
  // per model output, not necessarily dense.
  absl::Status Compute(RunMeter::Run& run, const TensorMap& inputs, const RunOptions& options,
                       exec::RunBuffers& buffers);
  absl::StatusOr<std::vector<TensorMap>> RunTogether(RunMeter::Run& run,
                                                     absl::Span<const Request> requests,
                                                     const RunOptions& options);
  absl::StatusOr<PrecisionReport> MeasurePrecision(RunMeter::Run& run, const TensorMap& inputs,
                                                   const RunOptions& options);

  struct AsyncRun;
  // Checks the run and leaves it to a worker.
  absl::Status Post(const std::shared_ptr<AsyncRun>& run, const TensorMap& inputs);
  // Computes it on the calling thread, a worker.
  void Finish(AsyncRun& run, exec::RunPermits& own);

  // Counts a call, unless the process was forked during one.
  absl::Status EnterCall();
  // Calls `body` with an allocator that keeps to the memory that `options` allow.
  absl::Status WithAllocator(const RunOptions& options,
                             absl::FunctionRef<absl::Status(Allocator&)> body);
  exec::RunQueue& queue();
  // Waits for permits and calls `body` there, within the time and the memory that `options` allow.
  absl::Status WithResources(RunMeter::Run& run, const RunOptions& options, Body body);
  // Calls `compute` on this thread or another, with the run's permits; with null if an observer
  // runs the session: its run has those of the run around it.
  absl::Status WithPermits(RunMeter::Run& run, const RunOptions& options, Interrupt& interrupt,
                           absl::FunctionRef<absl::Status(exec::RunPermits*)> compute);
  exec::RunContext ContextOf(const RunOptions& options, const Resources& resources) const;

  loader::Model model_;
  const int threads_;
  std::vector<ValueInfo> inputs_;
  std::vector<ValueInfo> outputs_;
  const InputRules input_rules_;
  // The positions of the outputs.
  std::vector<int> all_outputs_;
  const exec::ShareGroups groups_;
  exec::PoolAllocator allocator_;
  CallCount calls_;
  // Made by the first RunAsync of this process.
  ForkLocal<PendingRuns> pending_;
  const Limits limits_;
  // The place of the input kLastPositions that SessionOptions::last_positions_of adds; -1 without
  // it.
  int last_positions_ = -1;
  const std::shared_ptr<ThreadPool> pool_;
  // In use without a pool. In a child made by fork() all permits are free.
  ForkLocal<exec::RunQueue> own_queue_;
  const int most_threads_;
  const CpuSet cpus_;
  RunMeter meter_;
  int64_t constant_bytes_ = 0;
  std::vector<Rewrite> rewrites_;
  std::shared_ptr<const StateLayout> layout_;
  std::unique_ptr<const state::LazyNeeds> needs_;
  Precision precision_ = Precision::kFloat32;
  std::unique_ptr<exec::Plan> plan_;
  std::mutex joins_mutex_;
  std::vector<exec::Join> joins_;
  std::mutex float32_mutex_;
  std::unique_ptr<exec::Plan> float32_plan_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_SESSION_IMPL_H_
