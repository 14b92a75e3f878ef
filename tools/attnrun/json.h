// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_JSON_H_
#define ATTNRUN_TOOLS_ATTNRUN_JSON_H_

#include <string>

#include "nlohmann/json.hpp"

namespace attnrun::cli {

// Keeps the order in which keys are added.
using Json = nlohmann::ordered_json;

// The text of `json`; bytes of names that are not UTF-8 are replaced, numbers that are not finite
// are null.
std::string JsonText(const Json& json);

// JsonText to standard output, with a line's end.
void PrintJson(const Json& json);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_JSON_H_
