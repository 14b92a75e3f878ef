// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TEXT_UTF8_H_
#define ATTNRUN_OPS_TEXT_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace attnrun::ops {

// UTF-8 text with its letters in lower or upper case. Bytes that are not UTF-8 stay as they are.
std::string LowerCase(absl::string_view text);
std::string UpperCase(absl::string_view text);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TEXT_UTF8_H_
