// SPDX-License-Identifier: Apache-2.0
#include "attnrun/session.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "anonymous_extents.h"
#include "cache_type.h"
#include "checked_options.h"
#include "core/exceptions.h"
#include "core/fork.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/quote.h"
#include "core/status.h"
#include "core/team.h"
#include "execution/cpus.h"
#include "execution/executor.h"
#include "execution/joins.h"
#include "execution/kinds.h"
#include "execution/limited_allocator.h"
#include "execution/plan.h"
#include "execution/pool_allocator.h"
#include "execution/precision_meter.h"
#include "execution/product_precisions.h"
#include "execution/run_scope.h"
#include "execution/semaphore.h"
#include "execution/support.h"
#include "execution/together.h"
#include "graph/dump.h"
#include "inputs.h"
#include "last_positions.h"
#include "loader/loader.h"
#include "ops/tensors/cpu.h"
#include "optimizer/optimizer.h"
#include "optimizer_options.h"
#include "outputs.h"
#include "run_meter.h"
#include "state/initial_shapes.h"
#include "state_impl.h"
#include "state_layout.h"
#include "state_use.h"
#include "thread_pool_impl.h"
#include "weight_cache/weight_cache.h"

namespace attnrun {

class Session::Impl {
 public:
  Impl(loader::Model model, int threads, const SessionOptions& options)
      : model_(std::move(model)),
        threads_(threads),
        inputs_(DescribeInputs(*model_.graph)),
        outputs_(DescribeOutputs(*model_.graph)),
        input_rules_(inputs_),
        all_outputs_(outputs_.size()),
        team_user_(threads),
        allocator_(Allocator::Heap()),
        limits_(options.limits),
        pool_(options.thread_pool),
        own_places_(std::max(threads, exec::UsableCpus())) {
    absl::c_iota(all_outputs_, 0);
  }

  // `bytes` are those of a model without files.
  static absl::StatusOr<std::unique_ptr<Impl>> Make(loader::Model model, absl::string_view bytes,
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

  absl::Status Prepare(absl::string_view bytes, const SessionOptions& options) {
    SetNumThreads(threads_);
    std::optional<cache::WeightCache> cache;
    if (!options.weight_cache.empty() && !model_.files.empty() &&
        options.engine != Engine::kReference) {
      cache.emplace(options.weight_cache, model_.files, options.verify_weight_cache);
    }
    if (options.engine == Engine::kOptimized) {
      ATTNRUN_ASSIGN_OR_RETURN(rewrites_,
                               opt::Optimize(*model_.graph, OptimizerOptionsOf(options)));
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
    layout_ = std::make_shared<const StateLayout>(std::move(layout));
    ATTNRUN_ASSIGN_OR_RETURN(plan_, exec::Plan::Make(*model_.graph, kernels));
    for (const Tensor& constant : plan_->constants()) {
      constant_bytes_ += static_cast<int64_t>(constant.byte_size());
    }
    if (cache.has_value()) Save(*cache, options.log);
    return absl::OkStatus();
  }

  absl::Status Run(const TensorMap& inputs, TensorMap& outputs, const RunOptions& options) {
    return meter_.Counted([&](RunMeter::Run& run) -> absl::Status {
      ATTNRUN_RETURN_IF_ERROR(CheckWanted(outputs_, outputs));
      exec::RunBuffers buffers;
      buffers.inputs.resize(inputs_.size());
      ATTNRUN_RETURN_IF_ERROR(Compute(run, inputs, options, buffers));
      return Deliver(outputs_, buffers.outputs, outputs);
    });
  }

  absl::StatusOr<std::unique_ptr<State::Impl>> NewState(const StateOptions& options) const {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                             state::InitialShapes(graph(), inputs_, state_values(), options));
    return State::Impl::Make(layout_, shapes, options);
  }

  absl::StatusOr<size_t> StateBytes(const StateOptions& options) const {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                             state::InitialShapes(graph(), inputs_, state_values(), options));
    return State::Impl::Bytes(*layout_, shapes, options);
  }

  absl::StatusOr<std::unique_ptr<State::Impl>> LoadState(const std::string& path,
                                                         int64_t capacity) const {
    if (capacity < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a capacity of at least 0, but found ", capacity));
    }
    return State::Impl::Load(layout_, path, inputs_, capacity);
  }

  absl::StatusOr<TensorMap> Step(const TensorMap& inputs, State& state, const RunOptions& options) {
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

  absl::StatusOr<std::vector<TensorMap>> RunTogether(absl::Span<const Request> requests,
                                                     const RunOptions& options) {
    return meter_.Counted([&](RunMeter::Run& run) { return RunTogether(run, requests, options); });
  }

  absl::StatusOr<PrecisionReport> MeasurePrecision(const TensorMap& inputs,
                                                   const RunOptions& options) {
    return meter_.Counted(
        [&](RunMeter::Run& run) { return MeasurePrecision(run, inputs, options); });
  }

  SessionMetrics Metrics() const {
    SessionMetrics metrics;
    meter_.Read(metrics);
    metrics.arena_bytes = static_cast<int64_t>(allocator_.bytes());
    metrics.arena_peak_bytes = static_cast<int64_t>(allocator_.peak_bytes());
    metrics.constant_bytes = constant_bytes_;
    return metrics;
  }

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
  // How steps run for several requests, found at the first call.
  absl::Span<const exec::Join> Joins() {
    const std::lock_guard<std::mutex> lock(joins_mutex_);
    if (joins_.empty()) joins_ = exec::FindJoins(*plan_);
    return joins_;
  }

  // The inputs of `buffers` are undefined but for those of a state. Its outputs receive one tensor per
  // model output, not necessarily dense.
  absl::Status Compute(RunMeter::Run& run, const TensorMap& inputs, const RunOptions& options,
                       exec::RunBuffers& buffers) {
    ATTNRUN_RETURN_IF_ERROR(input_rules_.Bind(graph().equalities(), inputs, buffers.inputs));
    return InPlace(run, options, [&](Interrupt& interrupt, Allocator& allocator) {
      return exec::Execute(*plan_, buffers, {options, interrupt, allocator, limits_.body_runs});
    });
  }

  absl::StatusOr<std::vector<TensorMap>> RunTogether(RunMeter::Run& run,
                                                     absl::Span<const Request> requests,
                                                     const RunOptions& options) {
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
      ATTNRUN_RETURN_IF_ERROR(
          input_rules_.Bind(graph().equalities(), request.inputs, buffers.back()->inputs));
    }
    ATTNRUN_RETURN_IF_ERROR(InPlace(run, options, [&](Interrupt& interrupt, Allocator& allocator) {
      const exec::RunContext context = {options, interrupt, allocator, limits_.body_runs};
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

  absl::StatusOr<PrecisionReport> MeasurePrecision(RunMeter::Run& run, const TensorMap& inputs,
                                                   const RunOptions& options) {
    if (precision_ == Precision::kFloat32) {
      return absl::InvalidArgumentError(
          "the session computes in float32, so there is no lower precision to measure");
    }
    std::vector<Tensor> ordered(inputs_.size());
    ATTNRUN_RETURN_IF_ERROR(input_rules_.Bind(graph().equalities(), inputs, ordered));
    PrecisionReport report;
    ATTNRUN_RETURN_IF_ERROR(
        InPlace(run, options, [&](Interrupt& interrupt, Allocator& allocator) -> absl::Status {
          ATTNRUN_ASSIGN_OR_RETURN(const exec::Plan* float32, Float32Plan());
          ATTNRUN_ASSIGN_OR_RETURN(
              report, exec::MeasurePrecision({*float32, *plan_}, ordered, interrupt, allocator));
          return absl::OkStatus();
        }));
    report.precision = precision_;
    report.products = exec::ProductPrecisionsOf(*plan_, precision_);
    for (size_t i = 0; i < outputs_.size(); ++i) report.outputs[i].name = outputs_[i].name;
    return report;
  }

  // The next start packs the weights again.
  static void Save(cache::WeightCache& cache, const LogSink& log) {
    const absl::Status status = WithoutExceptions([&] { return cache.Save(); });
    if (status.ok() || !log) return;
    WithoutExceptions([&] {
      log(LogLevel::kWarning, absl::StrCat("the weight cache was not written: ", status.message()));
      return absl::OkStatus();
    }).IgnoreError();
  }

  // Waits for places and calls body(interrupt, allocator) there, within the time and the memory that
  // `options` allow.
  template <typename Function>
  absl::Status InPlace(RunMeter::Run& run, const RunOptions& options, Function body) {
    Interrupt interrupt(options.deadline, options.cancel);
    if (!calls_.Enter()) {
      return absl::FailedPreconditionError(
          "this process was forked while another thread ran the session: load it anew here");
    }
    const absl::Cleanup end = [this] { calls_.Leave(); };
    const int64_t most_bytes = options.memory_limit > 0
                                   ? std::min(options.memory_limit, limits_.run_bytes)
                                   : limits_.run_bytes;
    std::optional<exec::LimitedAllocator> limited;
    if (std::min(most_bytes, limits_.tensor_bytes) < Limits::kNone) {
      limited.emplace(allocator_, most_bytes, limits_.tensor_bytes);
    }
    Allocator& allocator = limited.has_value() ? static_cast<Allocator&>(*limited) : allocator_;
    if (exec::RunScope::IsRunning(this)) {
      return absl::FailedPreconditionError(
          "this thread is running the session already: an observer must not run it again");
    }
    exec::Semaphore& places = pool_ != nullptr ? pool_->impl_->places() : own_places_;
    // An observer's run has the places of the run around it.
    const int held = exec::RunScope::NumPlaces(&places);
    const int threads = held > 0 ? std::min(held, threads_) : threads_;
    if (held == 0) ATTNRUN_RETURN_IF_ERROR(Wait(run, places, interrupt));
    const absl::Cleanup release = [&] {
      if (held == 0) places.Release(threads_);
    };
    const exec::RunScope scope(this, &places, threads);
    const RunMeter::Running running(meter_);
    const int before = NumThreads();
    SetNumThreads(threads);
    const absl::Cleanup restore = [before] { SetNumThreads(before); };
    return body(interrupt, allocator);
  }

  absl::Status Wait(RunMeter::Run& run, exec::Semaphore& places, Interrupt& interrupt) {
    run.BeginWait(meter_);
    const absl::Cleanup end = [&] { run.EndWait(meter_); };
    return places.Acquire(threads_, interrupt, limits_.waiting_runs);
  }

  // A plan of the same graph with kernels in float32, made at the first call.
  absl::StatusOr<const exec::Plan*> Float32Plan() {
    const std::lock_guard<std::mutex> lock(float32_mutex_);
    if (float32_plan_ == nullptr) {
      ATTNRUN_ASSIGN_OR_RETURN(float32_plan_,
                               exec::Plan::Make(*model_.graph, exec::KernelOptions{}));
    }
    return float32_plan_.get();
  }

  loader::Model model_;
  const int threads_;
  std::vector<ValueInfo> inputs_;
  std::vector<ValueInfo> outputs_;
  const InputRules input_rules_;
  // The positions of the outputs.
  std::vector<int> all_outputs_;
  const TeamUser team_user_;
  exec::PoolAllocator allocator_;
  CallCount calls_;
  const Limits limits_;
  const std::shared_ptr<ThreadPool> pool_;
  // In use without a pool.
  exec::Semaphore own_places_;
  RunMeter meter_;
  int64_t constant_bytes_ = 0;
  std::vector<Rewrite> rewrites_;
  std::shared_ptr<const StateLayout> layout_;
  Precision precision_ = Precision::kFloat32;
  std::unique_ptr<exec::Plan> plan_;
  std::mutex joins_mutex_;
  std::vector<exec::Join> joins_;
  std::mutex float32_mutex_;
  std::unique_ptr<exec::Plan> float32_plan_;
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

absl::StatusOr<Session> Session::Load(const std::string& path, const SessionOptions& options) {
  return WithoutExceptions([&]() -> absl::StatusOr<Session> {
    ATTNRUN_RETURN_IF_ERROR(ops::CheckProcessor());
    ATTNRUN_ASSIGN_OR_RETURN(const loader::LoadOptions reading, LoadOptionsOf(options));
    ATTNRUN_ASSIGN_OR_RETURN(loader::Model model, loader::LoadModel(path, reading));
    absl::StatusOr<std::unique_ptr<Impl>> impl = Impl::Make(std::move(model), "", options);
    if (!impl.ok()) return Annotate(impl.status(), path);
    return Session(*std::move(impl));
  });
}

absl::StatusOr<Session> Session::LoadBytes(absl::string_view bytes, const SessionOptions& options) {
  return WithoutExceptions([&]() -> absl::StatusOr<Session> {
    ATTNRUN_RETURN_IF_ERROR(ops::CheckProcessor());
    ATTNRUN_ASSIGN_OR_RETURN(const loader::LoadOptions reading, LoadOptionsOf(options));
    ATTNRUN_ASSIGN_OR_RETURN(loader::Model model, loader::ParseModel(bytes, reading));
    ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<Impl> impl,
                             Impl::Make(std::move(model), bytes, options));
    return Session(std::move(impl));
  });
}

const std::vector<ValueInfo>& Session::inputs() const { return impl_->inputs(); }
const std::vector<ValueInfo>& Session::outputs() const { return impl_->outputs(); }

const std::map<std::string, std::string>& Session::metadata() const {
  return impl_->model().metadata;
}

int Session::threads() const { return impl_->threads(); }

absl::StatusOr<TensorMap> Session::Run(const TensorMap& inputs, const RunOptions& options) const {
  return WithoutExceptions([&]() -> absl::StatusOr<TensorMap> {
    TensorMap outputs;
    for (const ValueInfo& info : this->outputs()) outputs[info.name];
    ATTNRUN_RETURN_IF_ERROR(impl_->Run(inputs, outputs, options));
    return outputs;
  });
}

absl::Status Session::Run(const TensorMap& inputs, TensorMap& outputs,
                          const RunOptions& options) const {
  return impl_->Run(inputs, outputs, options);
}

const std::vector<StateValue>& Session::state_values() const { return impl_->state_values(); }

absl::StatusOr<State> Session::NewState(const StateOptions& options) const {
  return WithoutExceptions([&]() -> absl::StatusOr<State> {
    ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<State::Impl> state, impl_->NewState(options));
    return State(std::move(state));
  });
}

absl::StatusOr<size_t> Session::StateBytes(const StateOptions& options) const {
  return WithoutExceptions([&] { return impl_->StateBytes(options); });
}

absl::StatusOr<State> Session::LoadState(const std::string& path, int64_t capacity) const {
  return WithoutExceptions([&]() -> absl::StatusOr<State> {
    ATTNRUN_ASSIGN_OR_RETURN(std::unique_ptr<State::Impl> state, impl_->LoadState(path, capacity));
    return State(std::move(state));
  });
}

absl::StatusOr<TensorMap> Session::Run(const TensorMap& inputs, State& state,
                                       const RunOptions& options) const {
  return impl_->Step(inputs, state, options);
}

absl::StatusOr<std::vector<TensorMap>> Session::RunTogether(absl::Span<const Request> requests,
                                                            const RunOptions& options) const {
  return impl_->RunTogether(requests, options);
}

absl::StatusOr<PrecisionReport> Session::MeasurePrecision(const TensorMap& inputs,
                                                          const RunOptions& options) const {
  return impl_->MeasurePrecision(inputs, options);
}

SessionMetrics Session::Metrics() const { return impl_->Metrics(); }

std::vector<ProductPrecision> Session::ProductPrecisions() const {
  return exec::ProductPrecisionsOf(impl_->plan(), impl_->precision());
}

std::map<std::string, int64_t> Session::OpCounts() const {
  std::map<std::string, int64_t> counts;
  exec::CountOps(impl_->graph(), counts);
  return counts;
}

const std::vector<Rewrite>& Session::Rewrites() const { return impl_->rewrites(); }

std::string Session::GraphText() const { return DumpText(impl_->graph()); }

absl::StatusOr<Tensor> LoadTensorProto(const std::string& path) {
  return WithoutExceptions([&] { return loader::ReadTensorProto(path); });
}

absl::StatusOr<Tensor> LoadValueProto(const std::string& path, const ValueInfo& info) {
  return WithoutExceptions([&] { return loader::ReadValueProto(path, info); });
}

}  // namespace attnrun
