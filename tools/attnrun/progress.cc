// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/progress.h"

#include <unistd.h>

#include <iostream>

#include "absl/time/clock.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

// Moves to the start of the line and clears it.
constexpr absl::string_view kClear = "\r\x1b[K";

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (last_ != absl::InfinitePast()) std::cerr << kClear << std::flush;
}

void Progress::Show(absl::string_view text) {
  if (!terminal_) return;
  const absl::Time now = absl::Now();
  if (now - last_ < absl::Milliseconds(100)) return;
  last_ = now;
  std::cerr << kClear << Printable(text) << std::flush;
}

}  // namespace attnrun::cli
