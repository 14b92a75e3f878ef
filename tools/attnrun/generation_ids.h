// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_GENERATION_IDS_H_
#define ATTNRUN_TOOLS_ATTNRUN_GENERATION_IDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/generation_config.h"

namespace attnrun::cli {

// "1,2,3", or separated by spaces. kInvalidArgument for anything that is no id, and for no id.
absl::StatusOr<TokenIds> ParseIds(absl::string_view text);

// A list per line, as ParseIds takes them, or a JSON list of lists. Blank lines are passed over.
absl::StatusOr<std::vector<TokenIds>> ReadIdsFile(const std::string& path);

// The text of a file. kNotFound if it cannot be read.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_GENERATION_IDS_H_
