#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_KNOWN_BRANCHES_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_KNOWN_BRANCHES_H_

#include "optimizer/pass.h"

namespace attnrun {

//   If(condition)    becomes    the nodes of its branch
//
// where the condition is the same in every run, as where an exporter asks for an extent that is a
// number by now.
absl::StatusOr<int> TakeKnownBranches(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_KNOWN_BRANCHES_H_
