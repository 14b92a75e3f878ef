// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_REWRITE_H_
#define ATTNRUN_REWRITE_H_

#include <string>
#include <vector>

namespace attnrun {

// What the optimizer did at one place of the graph, or why it did not.
struct Rewrite {
  // The pass's name, as SessionOptions::disabled_passes takes it.
  std::string pass;
  bool applied = false;
  // Where: the nodes whose bodies lead there and the attributes that hold them, as in
  // "if_1.then_branch/loop_2.body"; empty for the main graph.
  std::string body;
  // Names of the nodes that were replaced; of a near miss, of the node that it is about.
  std::vector<std::string> nodes;
  // Names of the nodes that replaced them; empty for a near miss, and where values were merely
  // found to be equal.
  std::vector<std::string> into;
  // Of a near miss: the first condition that failed, with the name of the node or value.
  std::string reason;
};

}  // namespace attnrun

#endif  // ATTNRUN_REWRITE_H_
