// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_STATE_USE_H_
#define ATTNRUN_RUNTIME_STATE_USE_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/model_info.h"
#include "attnrun/state.h"
#include "attnrun/tensor.h"
#include "state_impl.h"

namespace attnrun {

// The states of one run. They are as before the run unless it ends with Keep.
class StateUse {
 public:
  StateUse() = default;
  StateUse(const StateUse&) = delete;
  StateUse& operator=(const StateUse&) = delete;
  ~StateUse();

  // Enters a state for a run of the session with this layout. `inputs` are those of the caller.
  // kInvalidArgument for a state of another session and for an input that the state carries;
  // kFailedPrecondition if another run uses the state.
  absl::StatusOr<State::Impl*> Add(const TensorMap& inputs, State& state,
                                   const StateLayout& layout);

  // Lets all states keep the results of their runs. An error leaves all as they were before.
  absl::Status Keep();

 private:
  absl::InlinedVector<State::Impl*, 8> states_;
  bool keeps_ = false;
};

// The results of a run, dense, by the names of the outputs: those at the positions `given`.
absl::StatusOr<TensorMap> OutputsOf(const std::vector<ValueInfo>& outputs,
                                    absl::Span<const int> given, absl::Span<const Tensor> results);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_STATE_USE_H_
