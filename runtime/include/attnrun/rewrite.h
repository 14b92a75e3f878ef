// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_REWRITE_H_
#define ATTNRUN_REWRITE_H_

#include <string>
#include <vector>

namespace attnrun {

// One rewrite that the optimizer applied, or a near miss: one that it almost applied, and why not.
struct Rewrite {
  // The name of the pass, as SessionOptions::disabled_passes takes it.
  std::string pass;
  bool applied = false;
  // The subgraph that holds the nodes, as a path of nodes and attributes:
  // "if_1.then_branch/loop_2.body". Empty for the main graph.
  std::string body;
  // Applied: the names of the nodes that were replaced. Near miss: the node it concerns.
  std::vector<std::string> nodes;
  // The names of the nodes that replaced them. Empty for a near miss, and for a rewrite that only
  // found values to be equal.
  std::vector<std::string> into;
  // Near miss: the first condition that failed, with the name of the node or value.
  std::string reason;
};

}  // namespace attnrun

#endif  // ATTNRUN_REWRITE_H_
