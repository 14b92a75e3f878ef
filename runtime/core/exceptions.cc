// SPDX-License-Identifier: Apache-2.0
#include "core/exceptions.h"

#include <cxxabi.h>

#include <cstddef>
#include <exception>
#include <new>

#include "absl/strings/string_view.h"

namespace attnrun {
namespace {

// Without memory for the message, the status is its code alone.
absl::Status MakeStatus(absl::StatusCode code, absl::string_view message) {
  try {
    return {code, message};
  } catch (const std::bad_alloc&) {
    return {code, ""};
  }
}

absl::Status Internal(absl::string_view message) {
  return MakeStatus(absl::StatusCode::kInternal, message);
}

}  // namespace

const absl::Status& OutOfMemory() {
  // Never destroyed, because threads may use it after static destruction.
  alignas(absl::Status) static std::byte place[sizeof(absl::Status)];
  static const auto* const status =
      new (place) absl::Status(MakeStatus(absl::StatusCode::kResourceExhausted, "out of memory"));
  return *status;
}

absl::Status StatusOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::exception& error) {
    return Internal(error.what());
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return Internal("an exception of an unknown type");
  }
}

}  // namespace attnrun
