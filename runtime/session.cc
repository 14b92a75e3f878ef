// SPDX-License-Identifier: Apache-2.0
#include "attnrun/session.h"

#include <string>
#include <utility>

#include "checked_options.h"
#include "core/exceptions.h"
#include "core/status.h"
#include "execution/product_precisions.h"
#include "execution/support.h"
#include "graph/dump.h"
#include "loader/loader.h"
#include "ops/tensors/cpu.h"
#include "session_impl.h"

namespace attnrun {

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
    TensorMap outputs = impl_->AllOutputs();
    ATTNRUN_RETURN_IF_ERROR(impl_->Run(inputs, outputs, options));
    return outputs;
  });
}

absl::Status Session::Run(const TensorMap& inputs, TensorMap& outputs,
                          const RunOptions& options) const {
  return impl_->Run(inputs, outputs, options);
}

absl::Status Session::RunAsync(const TensorMap& inputs, RunCallback done,
                               const RunOptions& options) const {
  return WithoutExceptions(
      [&] { return impl_->RunAsync(inputs, impl_->AllOutputs(), std::move(done), options); });
}

absl::Status Session::RunAsync(const TensorMap& inputs, TensorMap outputs, RunCallback done,
                               const RunOptions& options) const {
  return impl_->RunAsync(inputs, std::move(outputs), std::move(done), options);
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
