// SPDX-License-Identifier: Apache-2.0
#include "session_impl.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "anonymous_extents.h"
#include "cache_type.h"
#include "checked_options.h"
#include "core/exceptions.h"
#include "core/parallel.h"
#include "core/status.h"
#include "execution/cpus.h"
#include "execution/kinds.h"
#include "execution/limited_allocator.h"
#include "execution/precision_meter.h"
#include "execution/product_precisions.h"
#include "execution/run_scope.h"
#include "execution/support.h"
#include "execution/together.h"
#include "last_positions.h"
#include "optimizer/optimizer.h"
#include "optimizer_options.h"
#include "outputs.h"
#include "state_use.h"
#include "thread_pool_impl.h"
#include "weight_cache/weight_cache.h"

namespace attnrun {
namespace {

// The next start packs the weights again.
void Save(cache::WeightCache& cache, const LogSink& log) {
  const absl::Status status = WithoutExceptions([&] { return cache.Save(); });
  if (status.ok() || !log) return;
  WithoutExceptions([&] {
    log(LogLevel::kWarning, absl::StrCat("the weight cache was not written: ", status.message()));
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session::Impl>> Session::Impl::Make(loader::Model model,
                                                                   absl::string_view bytes,
                                                                   const SessionOptions& options) {
  ForgetExtentNames(options.anonymous_extents_of, *model.graph);
  ATTNRUN_RETURN_IF_ERROR(CutToLastPositions(options.last_positions_of, *model.graph));
  ATTNRUN_RETURN_IF_ERROR(exec::CheckSupported(*model.graph));
  ATTNRUN_RETURN_IF_ERROR(exec::FindKinds(*model.graph));
  ATTNRUN_ASSIGN_OR_RETURN(const int threads, ThreadsOf(options));
  auto impl = std::make_unique<Impl>(std::move(model), threads, options);
  ATTNRUN_RETURN_IF_ERROR(impl->Prepare(bytes, options));
  return impl;
}

Session::Impl::Impl(loader::Model model, int threads, const SessionOptions& options)
    : model_(std::move(model)),
      threads_(threads),
      inputs_(DescribeInputs(*model_.graph)),
      outputs_(DescribeOutputs(*model_.graph)),
      input_rules_(inputs_),
      all_outputs_(outputs_.size()),
      groups_(threads),
      allocator_(options.allocator != nullptr ? exec::PoolAllocator(options.allocator)
                                              : exec::PoolAllocator(Allocator::Heap())),
      limits_(options.limits),
      pool_(options.thread_pool),
      most_threads_(std::max(threads, exec::UsableCpus())) {
  absl::c_iota(all_outputs_, 0);
  if (options.last_positions_of.empty()) return;
  const auto added =
      absl::c_find_if(inputs_, [](const ValueInfo& info) { return info.name == kLastPositions; });
  last_positions_ = static_cast<int>(added - inputs_.begin());
}

absl::Status Session::Impl::Prepare(absl::string_view bytes, const SessionOptions& options) {
  SetNumThreads(threads_);
  std::optional<cache::WeightCache> cache;
  if (!options.weight_cache.empty() && !model_.files.empty() &&
      options.engine != Engine::kReference) {
    cache.emplace(options.weight_cache, model_.files, options.verify_weight_cache);
  }
  if (options.engine == Engine::kOptimized) {
    ATTNRUN_ASSIGN_OR_RETURN(rewrites_, opt::Optimize(*model_.graph, OptimizerOptionsOf(options)));
  }
  std::optional<exec::KernelOptions> kernels;
  if (options.engine != Engine::kReference) {
    precision_ = options.precision;
    kernels = {precision_, cache.has_value() ? &*cache : nullptr};
  }
  StateLayout layout = MakeStateLayout(*model_.graph, inputs_, outputs_);
  if (options.cache_type != DataType::kFloat) {
    ATTNRUN_RETURN_IF_ERROR(
        StoreCachesAs(options.cache_type, *model_.graph, layout, inputs_, outputs_));
  }
  layout.model = std::make_shared<const ModelFingerprint>(model_.files, bytes, precision_);
  if (kernels.has_value()) kernels->few_rows = options.few_rows || !layout.values.empty();
  layout_ = std::make_shared<const StateLayout>(std::move(layout));
  needs_ = std::make_unique<const state::LazyNeeds>(graph());
  ATTNRUN_ASSIGN_OR_RETURN(plan_, exec::Plan::Make(*model_.graph, kernels));
  for (const Tensor& constant : plan_->constants()) {
    constant_bytes_ += static_cast<int64_t>(constant.byte_size());
  }
  if (cache.has_value()) Save(*cache, options.log);
  return absl::OkStatus();
}

TensorMap Session::Impl::AllOutputs() const {
  TensorMap outputs;
  for (const ValueInfo& info : outputs_) outputs[info.name];
  return outputs;
}

absl::Status Session::Impl::Run(const TensorMap& inputs, TensorMap& outputs,
                                const RunOptions& options) {
  return meter_.Counted([&](RunMeter::Run& run) -> absl::Status {
    ATTNRUN_RETURN_IF_ERROR(CheckWanted(outputs_, outputs));
    exec::RunBuffers buffers;
    buffers.inputs.resize(inputs_.size());
    ATTNRUN_RETURN_IF_ERROR(Compute(run, inputs, options, buffers));
    return Deliver(outputs_, buffers.outputs, outputs);
  });
}

absl::StatusOr<std::unique_ptr<State::Impl>> Session::Impl::NewState(
    const StateOptions& options) const {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                           state::InitialShapes(*needs_, inputs_, state_values(), options));
  return State::Impl::Make(layout_, shapes, options);
}

absl::StatusOr<size_t> Session::Impl::StateBytes(const StateOptions& options) const {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                           state::InitialShapes(*needs_, inputs_, state_values(), options));
  return State::Impl::Bytes(*layout_, shapes, options);
}

absl::StatusOr<std::unique_ptr<State::Impl>> Session::Impl::LoadState(const std::string& path,
                                                                      int64_t capacity) const {
  if (capacity < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a capacity of at least 0, but found ", capacity));
  }
  return State::Impl::Load(layout_, path, inputs_, capacity);
}

absl::StatusOr<TensorMap> Session::Impl::Step(const TensorMap& inputs, State& state,
                                              const RunOptions& options) {
  return meter_.Counted([&](RunMeter::Run& run) -> absl::StatusOr<TensorMap> {
    StateUse use;
    ATTNRUN_ASSIGN_OR_RETURN(State::Impl * entered, use.Add(inputs, state, *layout_));
    exec::RunBuffers& buffers = entered->Lend(inputs_.size());
    ATTNRUN_RETURN_IF_ERROR(Compute(run, inputs, options, buffers));
    ATTNRUN_ASSIGN_OR_RETURN(TensorMap outputs,
                             OutputsOf(outputs_, layout_->given, buffers.outputs));
    ATTNRUN_RETURN_IF_ERROR(use.Keep());
    return outputs;
  });
}

absl::StatusOr<std::vector<TensorMap>> Session::Impl::RunTogether(
    absl::Span<const Request> requests, const RunOptions& options) {
  return meter_.Counted([&](RunMeter::Run& run) { return RunTogether(run, requests, options); });
}

absl::StatusOr<PrecisionReport> Session::Impl::MeasurePrecision(const TensorMap& inputs,
                                                                const RunOptions& options) {
  return meter_.Counted([&](RunMeter::Run& run) { return MeasurePrecision(run, inputs, options); });
}

SessionMetrics Session::Impl::Metrics() const {
  SessionMetrics metrics;
  meter_.Read(metrics);
  metrics.arena_bytes = static_cast<int64_t>(allocator_.bytes());
  metrics.arena_peak_bytes = static_cast<int64_t>(allocator_.peak_bytes());
  metrics.constant_bytes = constant_bytes_;
  return metrics;
}

absl::Span<const exec::Join> Session::Impl::Joins() {
  const std::lock_guard<std::mutex> lock(joins_mutex_);
  if (joins_.empty()) joins_ = exec::FindJoins(*plan_);
  return joins_;
}

absl::StatusOr<const exec::Plan*> Session::Impl::Float32Plan() {
  const std::lock_guard<std::mutex> lock(float32_mutex_);
  if (float32_plan_ == nullptr) {
    ATTNRUN_ASSIGN_OR_RETURN(float32_plan_, exec::Plan::Make(*model_.graph, exec::KernelOptions{}));
  }
  return float32_plan_.get();
}

absl::Status Session::Impl::Bind(const TensorMap& given, std::vector<Tensor>& inputs) const {
  ATTNRUN_RETURN_IF_ERROR(input_rules_.Bind(graph().equalities(), given, inputs));
  return last_positions_ < 0 ? absl::OkStatus() : CheckLastPositions(inputs[last_positions_]);
}

absl::Status Session::Impl::Compute(RunMeter::Run& run, const TensorMap& inputs,
                                    const RunOptions& options, exec::RunBuffers& buffers) {
  ATTNRUN_RETURN_IF_ERROR(Bind(inputs, buffers.inputs));
  return WithResources(run, options, [&](const Resources& resources) {
    return exec::Execute(*plan_, buffers, ContextOf(options, resources));
  });
}

absl::StatusOr<std::vector<TensorMap>> Session::Impl::RunTogether(
    RunMeter::Run& run, absl::Span<const Request> requests, const RunOptions& options) {
  if (options.observer) {
    return absl::InvalidArgumentError("several requests at once cannot be observed");
  }
  if (requests.empty()) return std::vector<TensorMap>();
  StateUse use;
  std::vector<exec::RunBuffers> own(requests.size());
  std::vector<exec::RunBuffers*> buffers;
  for (const Request& request : requests) {
    buffers.push_back(&own[buffers.size()]);
    if (request.state != nullptr) {
      ATTNRUN_ASSIGN_OR_RETURN(State::Impl * entered,
                               use.Add(request.inputs, *request.state, *layout_));
      buffers.back() = &entered->Lend(inputs_.size());
    } else {
      buffers.back()->inputs.resize(inputs_.size());
    }
    ATTNRUN_RETURN_IF_ERROR(Bind(request.inputs, buffers.back()->inputs));
  }
  ATTNRUN_RETURN_IF_ERROR(WithResources(run, options, [&](const Resources& resources) {
    const exec::RunContext context = ContextOf(options, resources);
    if (buffers.size() == 1) return exec::Execute(*plan_, *buffers[0], context);
    return exec::ExecuteTogether(*plan_, Joins(), buffers, context);
  }));
  std::vector<TensorMap> outputs;
  for (size_t r = 0; r < requests.size(); ++r) {
    const bool has_state = requests[r].state != nullptr;
    ATTNRUN_ASSIGN_OR_RETURN(
        outputs.emplace_back(),
        OutputsOf(outputs_, has_state ? layout_->given : all_outputs_, buffers[r]->outputs));
  }
  ATTNRUN_RETURN_IF_ERROR(use.Keep());
  return outputs;
}

absl::StatusOr<PrecisionReport> Session::Impl::MeasurePrecision(RunMeter::Run& run,
                                                                const TensorMap& inputs,
                                                                const RunOptions& options) {
  if (precision_ == Precision::kFloat32) {
    return absl::InvalidArgumentError(
        "the session computes in float32, so there is no lower precision to measure");
  }
  std::vector<Tensor> ordered(inputs_.size());
  ATTNRUN_RETURN_IF_ERROR(Bind(inputs, ordered));
  PrecisionReport report;
  ATTNRUN_RETURN_IF_ERROR(
      WithResources(run, options, [&](const Resources& resources) -> absl::Status {
        ATTNRUN_ASSIGN_OR_RETURN(const exec::Plan* float32, Float32Plan());
        ATTNRUN_ASSIGN_OR_RETURN(
            report, exec::MeasurePrecision({*float32, *plan_}, ordered, resources.interrupt,
                                           resources.allocator));
        return absl::OkStatus();
      }));
  report.precision = precision_;
  report.products = exec::ProductPrecisionsOf(*plan_, precision_);
  for (size_t i = 0; i < outputs_.size(); ++i) report.outputs[i].name = outputs_[i].name;
  return report;
}

absl::Status Session::Impl::EnterCall() {
  if (calls_.Enter()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "this process was forked while another thread ran the session: load it anew here");
}

absl::Status Session::Impl::WithResources(RunMeter::Run& run, const RunOptions& options,
                                          Body body) {
  Interrupt interrupt(options.deadline, options.cancel);
  ATTNRUN_RETURN_IF_ERROR(EnterCall());
  const absl::Cleanup end = [this] { calls_.Leave(); };
  if (exec::RunScope::IsRunning(this)) {
    return absl::FailedPreconditionError(
        "this thread is running the session already: an observer, or what RunAsync calls, must not "
        "run it again");
  }
  return WithAllocator(options, [&](Allocator& allocator) {
    return WithPermits(run, options, interrupt, [&](exec::RunPermits* own) {
      const RunMeter::Running running(meter_);
      return WithoutExceptions([&] { return body({interrupt, allocator, own}); });
    });
  });
}

absl::Status Session::Impl::WithAllocator(const RunOptions& options,
                                          absl::FunctionRef<absl::Status(Allocator&)> body) {
  const int64_t most_bytes = options.memory_limit > 0
                                 ? std::min(options.memory_limit, limits_.run_bytes)
                                 : limits_.run_bytes;
  if (std::min(most_bytes, limits_.tensor_bytes) == Limits::kNone) return body(allocator_);
  exec::LimitedAllocator limited(allocator_, most_bytes, limits_.tensor_bytes);
  return body(limited);
}

exec::RunQueue& Session::Impl::queue() {
  return pool_ != nullptr ? pool_->impl_->queue() : own_queue_.Get(most_threads_, cpus_);
}

absl::Status Session::Impl::WithPermits(
    RunMeter::Run& run, const RunOptions& options, Interrupt& interrupt,
    absl::FunctionRef<absl::Status(exec::RunPermits*)> compute) {
  exec::RunQueue& queue = this->queue();
  const auto with_threads = [&](exec::RunPermits* own, int threads) {
    const exec::RunScope scope(this, queue, threads);
    return compute(own);
  };
  const int around = exec::RunScope::NumPermits(queue);
  if (around > 0) return with_threads(nullptr, std::min(around, threads_));
  run.BeginWait(meter_);
  const absl::Cleanup end_wait = [&] { run.EndWait(meter_); };
  // An observer is called on the thread of its caller.
  const bool here = static_cast<bool>(options.observer);
  return queue.Run(threads_, interrupt, limits_.waiting_runs, here, [&](exec::RunPermits& own) {
    run.EndWait(meter_);
    return with_threads(&own, own.held());
  });
}

exec::RunContext Session::Impl::ContextOf(const RunOptions& options,
                                          const Resources& resources) const {
  return {options, resources.interrupt, resources.allocator, limits_.body_runs, resources.permits};
}

}  // namespace attnrun
