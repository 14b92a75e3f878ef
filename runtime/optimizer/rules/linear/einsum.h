// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_LINEAR_EINSUM_H_
#define ATTNRUN_OPTIMIZER_RULES_LINEAR_EINSUM_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// Einsums of two operands become products of matrices, in the spelling that other passes know. With
// a weight, here [D,N,H], whatever the order of its axes:
//
//   x [B,S,D]                            x [B,S,D]
//       |                                    |
//   Einsum("bsd,dnh->bsnh", w)           Linear(w [D,N*H], b [N*H])
//       |                      ->            |
//   Add(b [N,H])                         Reshape [B,S,N,H]
//       |                                    |
//   y [B,S,N,H]                          y [B,S,N,H]
//
// and of two computed operands:
//
//   q [B,S,N,H]   k [B,T,N,H]            q [B,S,N,H]         k [B,T,N,H]
//           \      /                           |                   |
//    Einsum("bsnh,btnh->bnst")     ->    Transpose(0,2,1,3)  Transpose(0,2,3,1)
//              |                                        \     /
//          y [B,N,S,T]                                  MatMul
//
// Labels that share an axis of a matrix are merged by Reshape. Left as they are: a label that an
// operand repeats or sums by itself, products without a sum, extents that might be broadcast, but
// for samples, which MatMul broadcasts, and the keys of an attention, of which there are as many in
// its two products.
namespace attnrun::opt {

absl::StatusOr<int> RewriteEinsums(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_LINEAR_EINSUM_H_
