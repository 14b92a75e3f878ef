// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_EPILOGUE_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_EPILOGUE_H_

#include <string>

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// What follows a product becomes a part of it, done on each tile while it is in cache:
//
//   x  W  b                    x  W  b
//    \ | /                      \ | /
//   Linear        ->           Linear {activation = "Gelu"}
//      |                          |
//    Gelu                         y
//      |
//      y
//
//   x  W  b                    x  W  b
//    \ | /                      \ | /
//   Linear   r    ->           Linear -- r
//        \  /                     |
//        Add                      y
//         |
//         y
namespace attnrun::opt {

absl::StatusOr<int> FuseActivation(PassContext& context);
absl::StatusOr<int> FuseResidual(PassContext& context);

// The node's activation by its name as an attribute of attnrun.Linear; empty if it is none.
std::string ActivationName(const Node& node);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_EPILOGUE_H_
