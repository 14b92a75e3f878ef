// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_BODY_FACTS_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_BODY_FACTS_H_

#include <string>
#include <vector>

#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The facts about the inputs of the body in `attribute` of `node` that hold whenever the body runs.
// `facts` belong to the graph that has the node.
std::vector<ops::ValueFacts> BodyInputFacts(const Node& node, const std::string& attribute,
                                            Facts& facts);

// Sets the facts about the outputs of an If or a Loop that follow from its bodies; does nothing for
// other nodes.
void InferFromBodies(const Node& node, Facts& facts, std::vector<ops::ValueFacts>& outputs);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_BODY_FACTS_H_
