// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_CHECKED_OPTIONS_H_
#define ATTNRUN_RUNTIME_CHECKED_OPTIONS_H_

#include "absl/status/statusor.h"
#include "attnrun/session.h"
#include "loader/loader.h"

namespace attnrun {

// The threads of a run. kInvalidArgument for a number that cannot be, or that the pool does not
// have.
absl::StatusOr<int> ThreadsOf(const SessionOptions& options);

// The part of the options that the loader obeys. kInvalidArgument for a negative limit.
absl::StatusOr<loader::LoadOptions> LoadOptionsOf(const SessionOptions& options);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_CHECKED_OPTIONS_H_
