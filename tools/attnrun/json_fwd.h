// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_JSON_FWD_H_
#define ATTNRUN_TOOLS_ATTNRUN_JSON_FWD_H_

#include "nlohmann/json_fwd.hpp"

namespace attnrun::cli {

// A JSON value that keeps keys in the order in which they are added. Headers include this file in
// place of json.h, since the library's definitions take seconds to compile.
using Json = nlohmann::ordered_json;

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_JSON_FWD_H_
