// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_CORE_QUOTE_H_
#define ATTNRUN_CORE_QUOTE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace attnrun {

// Text from a file, for messages. A text longer than `limit` bytes is cut there and followed by its
// size: "encod... (5000 bytes)".
std::string Shortened(absl::string_view text, size_t limit = 200);

// A name in quotes, shortened: 'encoder/MatMul'.
std::string Quoted(absl::string_view name);

}  // namespace attnrun

#endif  // ATTNRUN_CORE_QUOTE_H_
