// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_STATE_CARRIED_VALUES_H_
#define ATTNRUN_STATE_CARRIED_VALUES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attnrun/state.h"
#include "graph/graph.h"

namespace attnrun::state {

// The values that a model carries from run to run, in the order of the graph's inputs. An output
// continues an input if operators that append, overwrite, cut or rearrange lead from the one to the
// other; where none do, if their names differ only in words such as "past" and "present". `names`
// are those that the model gives its outputs: an optimized graph may have other values in their
// places.
std::vector<StateValue> FindCarriedValues(const Graph& graph, absl::Span<const std::string> names);

}  // namespace attnrun::state

#endif  // ATTNRUN_STATE_CARRIED_VALUES_H_
