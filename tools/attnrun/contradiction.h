// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_CONTRADICTION_H_
#define ATTNRUN_TOOLS_ATTNRUN_CONTRADICTION_H_

#include <string>

#include "tools/attnrun/options.h"

namespace attnrun::cli {

// The message for options that do not go together; empty if they do.
std::string Contradiction(const Options& options);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_CONTRADICTION_H_
