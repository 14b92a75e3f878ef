// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_TARGETS_NODE_MUTATOR_H_
#define ATTNRUN_TESTS_FUZZ_TARGETS_NODE_MUTATOR_H_

#include "fuzz/choices.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

// A sample node of some operator with up to four changes: other attributes, types, shapes, values,
// inputs, numbers of outputs and opsets.
struct NodeTrial {
  SampleNode node;
  // False if inputs hold numbers that kernels and reference may round to different sides, such as
  // NaN, infinities and very large ones.
  bool tame = true;
  // The inputs that are the same in every run.
  std::vector<bool> constant = {};
};

NodeTrial MakeNodeTrial(Choices& choices);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_TARGETS_NODE_MUTATOR_H_
