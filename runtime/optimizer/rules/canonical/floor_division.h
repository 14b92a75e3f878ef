// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CANONICAL_FLOOR_DIVISION_H_
#define ATTNRUN_OPTIMIZER_RULES_CANONICAL_FLOOR_DIVISION_H_

#include "optimizer/rewrite/pass.h"

namespace attnrun::opt {

// Integers divided and rounded down, which ONNX has no operator for: one less than truncated where
// the signs differ and there is a remainder. With q = Div(a, b), as TorchScript's exporter and as
// dynamo's write it:
//
//   Where(And(Xor(Less(a, 0), Less(b, 0)), Not(Equal(Mod(a, b), 0))), Sub(q, 1), q)
//   Sub(q, Cast(And(Equal(Less(a, 0), GreaterOrEqual(b, 0)), Cast(Mod(a, b), bool))))
//     ->  attnrun.FloorDiv(a, b)
//
// and for a whole number b > 0 as dynamo's does, too:
//
//   Cast(Floor(Div(Cast(a, float), b)), int)  ->  attnrun.FloorDiv(a, b)
absl::StatusOr<int> FuseFloorDivision(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CANONICAL_FLOOR_DIVISION_H_
