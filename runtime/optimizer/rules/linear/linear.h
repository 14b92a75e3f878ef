// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Products with a constant matrix become attnrun.Linear:
//
//   x   W                     x   W   b
//    \ /                       \  |  /
//   MatMul   b       ->        Linear
//        \  /                     |
//        Add                      y
//         |
//         y
//
// and so do Gemm (alpha = beta = 1, A not transposed) and MatMul without a bias. Under a Reshape
// that keeps the last axis the Linear goes above it, where others may share its input:
//
//   x -> Reshape([-1, D]) -> Linear -> y   becomes   x -> Linear -> Reshape([-1, N]) -> y
namespace attnrun::opt {

absl::StatusOr<int> FuseLinear(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_LINEAR_H_
