// SPDX-License-Identifier: Apache-2.0
#include "core/quote.h"

#include "absl/strings/str_cat.h"

namespace attnrun {

std::string Shortened(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  // Does not cut within a UTF-8 character, whose later bytes are 10xxxxxx.
  size_t end = limit;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "... (", text.size(), " bytes)");
}

std::string Quoted(absl::string_view name) { return absl::StrCat("'", Shortened(name), "'"); }

}  // namespace attnrun
