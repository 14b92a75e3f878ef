// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_PROGRESS_H_
#define ATTNRUN_TOOLS_ATTNRUN_PROGRESS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace attnrun::cli {

// One line on standard error that shows the progress of long work, if that is a terminal. The line
// disappears with the object.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows `text`, at most ten times a second.
  void Show(absl::string_view text);

 private:
  const bool terminal_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_PROGRESS_H_
