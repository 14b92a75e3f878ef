// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_BODY_FACTS_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_BODY_FACTS_H_

#include <string>
#include <vector>

#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// What is known, whenever it runs, of the inputs of a body that `node` holds in `attribute`.
// `facts`: of the graph that has the node.
std::vector<ops::ValueFacts> BodyInputFacts(const Node& node, const std::string& attribute,
                                            Facts& facts);

// What the bodies of an If or a Loop tell of the node's outputs; nothing for other nodes.
void InferFromBodies(const Node& node, Facts& facts, std::vector<ops::ValueFacts>& outputs);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_BODY_FACTS_H_
