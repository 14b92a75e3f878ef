#ifndef ATTNRUN_OPTIMIZER_FUSIONS_SOFTMAX_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_SOFTMAX_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

// Softmax along an axis, written out:
//
//   x -------.                            x
//   |         \                           |
//   |      ReduceMax           ->      Softmax
//    \      /                             |
//      Sub, Exp -----.                    y
//       |             |
//   ReduceSum ------ Div -> y
//
// A maximum that is subtracted before a Softmax goes, too:
//
//   x -------.                            x
//   |         \                           |
//   |      ReduceMax           ->      Softmax
//    \      /                             |
//      Sub, Softmax -> y                  y
//
// A quotient without the maximum is left as it is: where an exponential overflows, the results
// differ.
namespace attnrun {

absl::StatusOr<int> FuseSoftmax(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_SOFTMAX_H_
