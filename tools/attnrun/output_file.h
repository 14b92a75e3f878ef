// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_OUTPUT_FILE_H_
#define ATTNRUN_TOOLS_ATTNRUN_OUTPUT_FILE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace attnrun::cli {

// Checks that a file can be written at `path`, before a long run whose result would be lost.
absl::Status CheckWritable(const std::string& path);

// Calls `write` with a temporary path beside `path`, then renames that file to `path`: either the
// whole file appears, or none. A symbolic link stays, and its target is replaced. Messages begin
// with the path.
absl::Status WriteAtomically(const std::string& path,
                             absl::FunctionRef<absl::Status(const std::string& temporary)> write);

// Writes a text with WriteAtomically.
absl::Status WriteText(const std::string& path, absl::string_view text);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_OUTPUT_FILE_H_
