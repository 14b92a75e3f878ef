// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_ATTRIBUTE_H_
#define ATTNRUN_GRAPH_ATTRIBUTE_H_

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "attnrun/tensor.h"
#include "graph/type.h"

namespace attnrun {

class Graph;

// The value of a node's attribute (ONNX AttributeProto). A subgraph belongs to its node.
using AttributeValue = std::variant<int64_t, float, std::string, Tensor, std::shared_ptr<Graph>,
                                    Type, std::vector<int64_t>, std::vector<float>,
                                    std::vector<std::string>, std::vector<Tensor>>;

using AttributeMap = std::map<std::string, AttributeValue, std::less<>>;

// ONNX's name of the kind, for messages: "int", "floats", "graph".
absl::string_view KindName(const AttributeValue& value);

// A short text for dumps: "1", "[1,2]", "'both'", "float[3]", "graph(12 nodes)".
std::string ToString(const AttributeValue& value);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_ATTRIBUTE_H_
