#ifndef ATTNRUN_OPTIMIZER_BODY_FACTS_H_
#define ATTNRUN_OPTIMIZER_BODY_FACTS_H_

#include <string>
#include <vector>

#include "optimizer/facts.h"

namespace attnrun {

// What is known, whenever it runs, of the inputs of a body that `node` holds in `attribute`.
// `facts`: of the graph that has the node.
std::vector<ValueFacts> BodyInputFacts(const Node& node, const std::string& attribute,
                                       Facts& facts);

// What the bodies of an If or a Loop tell of the node's outputs; nothing for other nodes.
void InferFromBodies(const Node& node, Facts& facts, std::vector<ValueFacts>& outputs);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_BODY_FACTS_H_
