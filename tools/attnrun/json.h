// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_JSON_H_
#define ATTNRUN_TOOLS_ATTNRUN_JSON_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tools/attnrun/json_fwd.h"

namespace attnrun::cli {

// The text of `json`. Bytes that are not UTF-8 are replaced, and numbers that are not finite become
// null.
std::string JsonText(const Json& json);

// Prints JsonText and a newline to standard output.
void PrintJson(const Json& json);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_JSON_H_
