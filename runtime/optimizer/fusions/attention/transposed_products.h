#ifndef ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_TRANSPOSED_PRODUCTS_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_TRANSPOSED_PRODUCTS_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

// The products of attention that are computed transposed, as between tensors of channels first,
// change their operands' order, from A B to (B^T A^T)^T, which puts the views before and behind
// them, where others undo them or attention reads through them:
//
//   k [...,T,H]   q^T [...,H,S]            v^T [...,H,T]   p [...,S,T]
//          \      /                               |            |
//           MatMul                                |        Transpose
//             |                                    \          /
//         Transpose                                   MatMul
//             |                                         |
//   scores [...,S,T], to a Softmax         y^T [...,H,S]
//
// become q k^T, and p v with a Transpose behind it.
namespace attnrun {

absl::StatusOr<int> TurnTransposedProducts(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_ATTENTION_TRANSPOSED_PRODUCTS_H_
