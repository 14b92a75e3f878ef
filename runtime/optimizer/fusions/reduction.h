#ifndef ATTNRUN_OPTIMIZER_FUSIONS_REDUCTION_H_
#define ATTNRUN_OPTIMIZER_FUSIONS_REDUCTION_H_

#include <optional>
#include <vector>

#include "optimizer/facts.h"

namespace attnrun {

// The one axis that a reduction such as ReduceMean removes and keeps as an axis of extent 1: -1 for
// the last, others counted from the front where the rank is known. nullopt for another operator,
// several axes or all, and where the axis goes. Axes may be an attribute or an input.
std::optional<int64_t> ReducedAxis(const Node& node, absl::string_view op_type, Facts& facts);

// What computes the maximum of each row of `rows`, along its last axis, which stays or is put back,
// if `value` is that: a ReduceMax, or an Unsqueeze and one. Else nothing.
std::vector<Node*> MaximumOfRows(const Value* value, const Value* rows, Facts& facts);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_FUSIONS_REDUCTION_H_
