#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_FLOOR_DIVISION_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_FLOOR_DIVISION_H_

#include "optimizer/pass.h"

namespace attnrun {

// Integers divided and rounded down, which ONNX has no operator for: one less than truncated where
// the signs differ and there is a remainder.
//
//   Where(And(Xor(Less(a, 0), Less(b, 0)), Not(Equal(Mod(a, b), 0))), Sub(q, 1), q), q = Div(a, b)
//     ->  attnrun.FloorDiv(a, b)
absl::StatusOr<int> FuseFloorDivision(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_FLOOR_DIVISION_H_
