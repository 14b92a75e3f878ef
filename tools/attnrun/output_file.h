// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_OUTPUT_FILE_H_
#define ATTNRUN_TOOLS_ATTNRUN_OUTPUT_FILE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace attnrun::cli {

// Whether a file could be written at `path`, so that a long run does not end in vain.
absl::Status CheckWritable(const std::string& path);

// Lets `write` make a file beside `path`, then renames it to `path`: either the whole file appears,
// or none. A symbolic link keeps pointing to what it points to. Messages begin with the path.
absl::Status WriteAtomically(const std::string& path,
                             absl::FunctionRef<absl::Status(const std::string& temporary)> write);

// WriteAtomically for a text at hand.
absl::Status WriteText(const std::string& path, absl::string_view text);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_OUTPUT_FILE_H_
