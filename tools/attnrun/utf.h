// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_UTF_H_
#define ATTNRUN_TOOLS_ATTNRUN_UTF_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace attnrun::cli {

// UTF-8 of Unicode code points; nothing for surrogates and numbers beyond U+10FFFF.
std::optional<std::string> ToUtf8(const std::u32string& text);

// Unicode code points of UTF-8; nothing for text that is not well-formed (Unicode 15, table 3-7).
std::optional<std::u32string> FromUtf8(absl::string_view text);

// `text` fit for one line of a terminal: as it is, or escaped as in C if it holds control
// characters or is not UTF-8.
std::string Printable(absl::string_view text);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_UTF_H_
