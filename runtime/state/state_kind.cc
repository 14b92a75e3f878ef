// SPDX-License-Identifier: Apache-2.0
#include "attnrun/state.h"

namespace attnrun {

absl::string_view Name(StateKind kind) {
  switch (kind) {
    case StateKind::kAppended:
      return "appended";
    case StateKind::kWindow:
      return "window";
    case StateKind::kWritten:
      return "written";
    case StateKind::kKept:
      return "kept";
    case StateKind::kReplaced:
      return "replaced";
  }
  return "?";
}

}  // namespace attnrun
