// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_STATE_USE_H_
#define ATTNRUN_RUNTIME_STATE_USE_H_

#include <vector>

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

  // `inputs` are those of the caller. kInvalidArgument for a state of another session and for an
  // input that the state carries; kFailedPrecondition if another run uses the state.
  absl::Status Add(const TensorMap& inputs, State::Impl& state, const void* session);

  void Keep() { keeps_ = true; }

 private:
  std::vector<State::Impl*> states_;
  bool keeps_ = false;
};

// The results of a run with a state.
struct StepResults {
  // For the caller, dense, by the names of the outputs.
  TensorMap outputs;
  // For the state, one tensor per carried value.
  std::vector<Tensor> carried;
};

// Divides the results of a run, in the order of `outputs`, between the caller and the state.
absl::StatusOr<StepResults> Divide(const std::vector<ValueInfo>& outputs,
                                   absl::Span<const StateValue> values,
                                   std::vector<Tensor> results);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_STATE_USE_H_
