// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_STATE_IMPL_H_
#define ATTNRUN_RUNTIME_STATE_IMPL_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/state.h"
#include "attnrun/tensor.h"

namespace attnrun {

// The tensors of a state, and how a run changes them.
class __attribute__((visibility("hidden"))) State::Impl {
 public:
  // `session` tells the states of one session from those of others. There is one shape per value.
  static absl::StatusOr<std::unique_ptr<Impl>> Make(const void* session,
                                                    const std::vector<StateValue>& values,
                                                    const std::vector<DataType>& types,
                                                    const std::vector<Shape>& shapes,
                                                    const StateOptions& options);

  const void* session() const { return session_; }
  const StateOptions& options() const { return options_; }
  const std::vector<StateValue>& values() const { return values_; }
  int64_t length() const;
  size_t byte_size() const;
  Tensor value(absl::string_view input) const;

  absl::Status Set(absl::string_view input, const Tensor& value);
  absl::Status Rewind(int64_t length);
  absl::StatusOr<std::unique_ptr<Impl>> Select(absl::Span<const int64_t> rows) const;
  absl::StatusOr<std::unique_ptr<Impl>> Clone() const;

  // False if another thread uses the state. Leave follows each Enter that returned true.
  bool Enter() { return !used_.exchange(true); }
  void Leave() { used_ = false; }

  // The tensors for the next run, by the names of the inputs.
  TensorMap Inputs() const;
  // Makes results of a run, in the order of values(), tensors that the state may keep.
  absl::Status Own(std::vector<Tensor>& results) const;
  // Takes such tensors.
  void Take(std::vector<Tensor> tensors) { tensors_ = std::move(tensors); }
  // Forgets what a run that failed has appended.
  void Retreat();

 private:
  Impl(const void* session, const std::vector<StateValue>& values, const StateOptions& options)
      : session_(session), values_(values), options_(options) {}

  // `tensor` in memory of the state's own, with room to grow if value i does.
  absl::StatusOr<Tensor> Owned(size_t i, const Tensor& tensor) const;
  Tensor Shortened(size_t i, int64_t length) const;
  std::unique_ptr<Impl> WithoutTensors() const;

  const void* const session_;
  const std::vector<StateValue>& values_;
  StateOptions options_;
  std::vector<Tensor> tensors_;
  std::atomic<bool> used_ = false;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_STATE_IMPL_H_
