#ifndef ATTNRUN_OPTIMIZER_FUSIONS_SWISH_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_SWISH_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

// SiLU and the quick form of Gelu (alpha = 1.702):
//
//   x -----------------.                    x
//   |                   |                   |
//   [Mul alpha]         |       ->     Swish(alpha)
//   |                   |                   |
//   Sigmoid ---------- Mul -> y             y
namespace attnrun {

absl::StatusOr<int> FuseSwish(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_SWISH_H_
