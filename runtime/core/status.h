// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_STATUS_H_
#define ATTNRUN_CORE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expression` from the calling function unless it is OK.
#define ATTNRUN_RETURN_IF_ERROR(expression)                                 \
  do {                                                                      \
    if (absl::Status attnrun_status = (expression); !attnrun_status.ok()) { \
      return attnrun_status;                                                \
    }                                                                       \
  } while (false)

#define ATTNRUN_CONCAT_INNER(a, b) a##b
#define ATTNRUN_CONCAT(a, b) ATTNRUN_CONCAT_INNER(a, b)

// ATTNRUN_ASSIGN_OR_RETURN(auto value, expression): declares or assigns the value of a StatusOr, or
// returns its status from the calling function.
#define ATTNRUN_ASSIGN_OR_RETURN(target, expression) \
  ATTNRUN_ASSIGN_OR_RETURN_IMPL(ATTNRUN_CONCAT(attnrun_status_or_, __LINE__), target, expression)
#define ATTNRUN_ASSIGN_OR_RETURN_IMPL(status_or, target, expression) \
  auto status_or = (expression);                                     \
  if (!status_or.ok()) return std::move(status_or).status();         \
  target = *std::move(status_or)

namespace attnrun {

// `status` with "context: " before its message; OK stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_STATUS_H_
