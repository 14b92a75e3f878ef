// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_UTF_H_
#define ATTNRUN_TOOLS_ATTNRUN_UTF_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace attnrun::cli {

// Encodes code points as UTF-8; nullopt for surrogates and for numbers beyond U+10FFFF.
std::optional<std::string> ToUtf8(const std::u32string& text);

// Decodes UTF-8; nullopt if the text is not well-formed (Unicode 15, table 3-7).
std::optional<std::u32string> FromUtf8(absl::string_view text);

// `text` as one line for a terminal: unchanged, or escaped as in C if it has control characters or
// is not UTF-8.
std::string Printable(absl::string_view text);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_UTF_H_
