// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/json.h"

#include <iostream>

namespace attnrun::cli {

std::string JsonText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

void PrintJson(const Json& json) { std::cout << JsonText(json) << "\n"; }

}  // namespace attnrun::cli
