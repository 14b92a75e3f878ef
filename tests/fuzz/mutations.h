// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_MUTATIONS_H_
#define ATTNRUN_TESTS_FUZZ_MUTATIONS_H_

#include <string>
#include <vector>

#include "fuzz/draft.h"
#include "fuzz/graph_maker.h"

namespace attnrun::testing {

// A change of a graph. Returns a description of it, or "" if nothing changed.
using Mutation = std::string (*)(Draft& draft, Dice& dice);

// Changes of attributes, and of the elements and shapes of constants.
std::vector<Mutation> NumberMutations();
// Changes of nodes: their inputs, operators and versions.
std::vector<Mutation> NodeMutations();

inline DraftNode& SomeNode(Draft& draft, Dice& dice) {
  return draft.nodes[dice.Int(0, std::ssize(draft.nodes) - 1)];
}

// A constant beside the others; returns its name.
inline std::string AddConstant(Draft& draft, Tensor tensor) {
  std::string name = "constant~" + std::to_string(draft.constants.size());
  draft.constants[name] = std::move(tensor);
  return name;
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_MUTATIONS_H_
