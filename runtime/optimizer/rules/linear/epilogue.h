// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_EPILOGUE_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_EPILOGUE_H_

#include <string>

#include "absl/status/statusor.h"
#include "optimizer/rewrite/context.h"

namespace attnrun::opt {

// The name that the node has as an activation of attnrun.Linear; empty if it is no such activation.
std::string ActivationName(const Node& node);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_EPILOGUE_H_
