// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_LOG_H_
#define ATTNRUN_LOG_H_

#include <functional>

#include "absl/strings/string_view.h"

namespace attnrun {

enum class LogLevel {
  // Something that a user may want to know, and that is as it should be.
  kInfo,
  // Something went wrong, and attnrun goes on without it.
  kWarning,
};

// Receives a message, one line without its end, on the thread that called attnrun, and so on
// several threads at once if these use the session at once. The message is gone when the call
// returns. An exception that it throws is dropped.
using LogSink = std::function<void(LogLevel level, absl::string_view message)>;

}  // namespace attnrun

#endif  // ATTNRUN_LOG_H_
