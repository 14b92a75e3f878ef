// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_EXCEPTIONS_H_
#define ATTNRUN_CORE_EXCEPTIONS_H_

#include <cxxabi.h>

#include <exception>
#include <new>

#include "absl/status/status.h"

namespace attnrun {

// Returns call(), an absl::Status or StatusOr, and turns an exception into an error status.
// Libraries, and standard containers when memory runs out, throw; no exception may leave attnrun.
template <typename Call>
auto WithoutExceptions(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  } catch (const abi::__forced_unwind&) {
    // The thread was cancelled: the C library must see its own exception.
    throw;
  } catch (...) {
    return absl::InternalError("an exception of an unknown type");
  }
}

}  // namespace attnrun

#endif  // ATTNRUN_CORE_EXCEPTIONS_H_
