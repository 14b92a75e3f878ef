// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_EXCEPTIONS_H_
#define ATTNRUN_CORE_EXCEPTIONS_H_

#include "absl/status/status.h"

namespace attnrun {

// kResourceExhausted, made beforehand, since a message needs memory.
const absl::Status& OutOfMemory();

// The exception that is being handled as an error. Passes on the one by which the C library ends a
// thread.
absl::Status StatusOfException();

// Returns call(), an absl::Status or StatusOr, and turns an exception into an error status.
// Libraries, and standard containers when memory runs out, throw; no exception may leave attnrun.
template <typename Call>
auto WithoutExceptions(Call call) -> decltype(call()) {
  OutOfMemory();
  try {
    return call();
  } catch (...) {
    return StatusOfException();
  }
}

}  // namespace attnrun

#endif  // ATTNRUN_CORE_EXCEPTIONS_H_
