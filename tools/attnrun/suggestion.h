// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_SUGGESTION_H_
#define ATTNRUN_TOOLS_ATTNRUN_SUGGESTION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace attnrun::cli {

// "; did you mean 'bench'?" if one of `known` is spelled nearly as `word`; else empty. Nearly: at
// most two letters, and fewer than half of them, are added, left out, exchanged or wrong.
std::string Suggestion(absl::string_view word, const std::vector<std::string>& known);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_SUGGESTION_H_
