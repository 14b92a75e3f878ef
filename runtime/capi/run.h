// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CAPI_RUN_H_
#define ATTNRUN_CAPI_RUN_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "attnrun/c.h"
#include "attnrun/run_options.h"
#include "attnrun/tensor.h"

struct attnrun_run_options {
  // Negative for none.
  int64_t timeout_microseconds = -1;
  int64_t memory_limit = 0;
  std::atomic<bool> cancelled = false;
};

namespace attnrun::capi {

// The settings of a run that begins now. `options` may be null.
RunOptions SettingsOf(const attnrun_run_options* options);

// The tensors by name; an undefined one for NULL. kInvalidArgument for a name that is given twice.
absl::StatusOr<TensorMap> InputsByName(const char* const* names,
                                       const attnrun_tensor* const* tensors, size_t count);
absl::StatusOr<TensorMap> OutputsByName(const char* const* names, attnrun_tensor* const* tensors,
                                        size_t count);

// Puts a new tensor into each place that has none: all of them or, if memory runs out, none.
void Deliver(TensorMap& results, const char* const* names, attnrun_tensor** outputs, size_t count);

}  // namespace attnrun::capi

#endif  // ATTNRUN_CAPI_RUN_H_
