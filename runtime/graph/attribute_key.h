// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_ATTRIBUTE_KEY_H_
#define ATTNRUN_GRAPH_ATTRIBUTE_KEY_H_

#include <string>

#include "graph/attribute.h"

namespace attnrun {

// Appends bytes that identify the value to the last bit, so that equal keys mean equal values.
// Returns false, with `key` unusable, for graphs, lists of tensors, and tensors that are not dense
// or hold strings.
bool AppendKey(const AttributeValue& value, std::string& key);
// The same for all attributes, with their names.
bool AppendKey(const AttributeMap& attributes, std::string& key);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_ATTRIBUTE_KEY_H_
