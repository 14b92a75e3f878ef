#ifndef ATTNRUN_OPTIMIZER_CANONICALIZE_DEAD_CODE_H_
#define ATTNRUN_OPTIMIZER_CANONICALIZE_DEAD_CODE_H_

#include "absl/status/statusor.h"
#include "optimizer/pass.h"

namespace attnrun {

// Removes nodes and initializers that no graph output depends on. Graph inputs stay.
absl::StatusOr<int> RemoveDeadCode(PassContext& context);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_CANONICALIZE_DEAD_CODE_H_
