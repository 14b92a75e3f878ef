#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_COMMON_SUBEXPRESSIONS_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_COMMON_SUBEXPRESSIONS_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

namespace attnrun {

// Makes one node of several that apply the same version of an operator with the same attributes to
// the same values, and one initializer of several with the same elements. Random operators and
// those with subgraphs stay.
absl::StatusOr<int> MergeCommonSubexpressions(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_COMMON_SUBEXPRESSIONS_H_
