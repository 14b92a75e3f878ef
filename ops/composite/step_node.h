// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_COMPOSITE_STEP_NODE_H_
#define ATTNRUN_OPS_COMPOSITE_STEP_NODE_H_

#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/type.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops {

// Adds to an empty graph a node: an operator of the standard, or of "domain::Name" at version 1,
// with inputs of these types; nullopt for one that is left out.
absl::StatusOr<const Node*> AddStep(Graph& graph, const std::string& op_type, int outputs,
                                    absl::Span<const std::optional<Type>> inputs,
                                    AttributeMap attributes);

// The attributes of these names, as the node has them, for an operator that describes the node's.
// Marks them as read.
AttributeMap PassedOn(AttributeReader& attributes, std::initializer_list<absl::string_view> names);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_COMPOSITE_STEP_NODE_H_
