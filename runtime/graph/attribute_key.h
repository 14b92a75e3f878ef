// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_ATTRIBUTE_KEY_H_
#define ATTNRUN_GRAPH_ATTRIBUTE_KEY_H_

#include <string>

#include "graph/attribute.h"

namespace attnrun {

// Appends bytes that are the same for equal values, to the bit, and for no others. False, and
// nothing of use, for graphs and for tensors that are not dense or hold strings.
bool AppendKey(const AttributeValue& value, std::string& key);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_ATTRIBUTE_KEY_H_
