// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"

namespace attnrun {
namespace {

// Keeps the beginning and the end, because the cause of an error stands at the end. Names are
// already shortened when they enter a message; long ones come from lists of shapes and attributes
// and from contexts many graphs deep.
std::string WithoutMiddle(absl::string_view message) {
  constexpr size_t kKept = 2000;
  if (message.size() <= 2 * kKept + 100) return std::string(message);
  absl::string_view end = message.substr(message.size() - kKept);
  while (!end.empty() && (end[0] & 0xC0) == 0x80) end.remove_prefix(1);
  return absl::StrCat(Shortened(message, kKept), " ... ", end);
}

}  // namespace

absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", WithoutMiddle(status.message())));
}

}  // namespace attnrun
