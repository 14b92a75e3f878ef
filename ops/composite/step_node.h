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

// A node of an empty graph: an operator of the standard, or of "domain::Name" at version 1, that
// reads inputs of these types; nullopt: left out.
absl::StatusOr<const Node*> AddStep(Graph& graph, const std::string& op_type, int outputs,
                                    absl::Span<const std::optional<Type>> inputs,
                                    AttributeMap attributes);

// Attributes of these names as a node has them, for an operator that it is described by. They count
// as read.
AttributeMap PassedOn(AttributeReader& attributes, std::initializer_list<absl::string_view> names);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_COMPOSITE_STEP_NODE_H_
