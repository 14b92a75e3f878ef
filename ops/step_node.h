#ifndef ATTNRUN_OPS_STEP_NODE_H_
#define ATTNRUN_OPS_STEP_NODE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/type.h"

namespace attnrun {

// A node of an empty graph: an operator of the standard, or of "domain::Name" at version 1, that
// reads inputs of these types; nullopt: left out.
absl::StatusOr<const Node*> AddStep(Graph& graph, const std::string& op_type, int outputs,
                                    absl::Span<const std::optional<Type>> inputs,
                                    AttributeMap attributes);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_STEP_NODE_H_
