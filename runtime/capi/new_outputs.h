// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CAPI_NEW_OUTPUTS_H_
#define ATTNRUN_CAPI_NEW_OUTPUTS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/c.h"
#include "attnrun/session.h"
#include "attnrun/tensor.h"
#include "tensor.h"

namespace attnrun::capi {

// The tensors that a run of a state puts into `outputs`. They are made before the run, so that
// nothing can fail after the state has changed.
class NewOutputs {
 public:
  // `step`: the run has a state, and its results lack the values that are carried.
  // kInvalidArgument for a name that is given twice or is no result, and unless all of `outputs`
  // are NULL.
  static absl::StatusOr<NewOutputs> Make(const Session& session, bool step,
                                         const char* const* names, attnrun_tensor* const* outputs,
                                         size_t count);

  // Moves the results into `outputs`, those of Make.
  void Fill(TensorMap& results, attnrun_tensor** outputs);

 private:
  struct Place {
    std::string name;
    std::unique_ptr<attnrun_tensor> tensor;
  };

  std::vector<Place> places_;
};

}  // namespace attnrun::capi

#endif  // ATTNRUN_CAPI_NEW_OUTPUTS_H_
