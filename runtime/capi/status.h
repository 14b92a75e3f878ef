// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CAPI_STATUS_H_
#define ATTNRUN_CAPI_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "attnrun/c.h"
#include "core/exceptions.h"

struct attnrun_status {
  attnrun_code code;
  std::string message;
};

namespace attnrun::capi {

// The status that needs no memory.
attnrun_status* OutOfMemory();

// NULL if OK.
attnrun_status* NewStatus(const absl::Status& status);

// kInvalidArgument: "`parameter` is NULL".
absl::Status IsNull(absl::string_view parameter);

// Returns call(), an absl::Status, to C. No exception leaves it.
template <typename Call>
attnrun_status* Guarded(Call call) {
  try {
    return NewStatus(WithoutExceptions(call));
  } catch (const std::bad_alloc&) {
    // Not even a message could be made.
    return OutOfMemory();
  }
}

// Makes *options.
template <typename T>
attnrun_status* MakeOptions(T** options) {
  return Guarded([&]() -> absl::Status {
    if (options == nullptr) return IsNull("options");
    *options = new T;
    return absl::OkStatus();
  });
}

}  // namespace attnrun::capi

#endif  // ATTNRUN_CAPI_STATUS_H_
