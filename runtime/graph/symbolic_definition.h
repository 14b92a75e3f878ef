// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_SYMBOLIC_DEFINITION_H_
#define ATTNRUN_GRAPH_SYMBOLIC_DEFINITION_H_

#include <string>

#include "graph/symbolic.h"

namespace attnrun {

struct SymInt::Definition {
  std::string text;
  bool never_negative = true;
  // True for a symbol that equals nothing else.
  bool unknown = false;
  // The function of an Opaque symbol; empty for other symbols.
  std::string function;
  SymInt a;
  SymInt b;
};

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_SYMBOLIC_DEFINITION_H_
