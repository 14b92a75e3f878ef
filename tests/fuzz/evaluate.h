// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_EVALUATE_H_
#define ATTNRUN_TESTS_FUZZ_EVALUATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/draft.h"

namespace attnrun::testing {

// A graph and its inputs: one map of inputs per choice of the symbolic dimensions.
struct Trial {
  Draft draft;
  std::vector<TensorMap> bindings;
};

// Moves each element of floating-point inputs and results by up to `epsilons` epsilons of its type,
// relative to its own magnitude plus the typical magnitude of its tensor, because a small sum of
// large terms is as inexact as the terms. For Gelu the magnitude is at least 1, because kernels are
// as close as 1 + erf(x) in float. Zeros stay, and so do tensors of whole numbers.
struct Noise {
  double epsilons = 0;
  uint32_t seed = 1;
  // If true, elements that noise may move to 0 become 0, as if they underflowed, so that dividing
  // by them gives infinity.
  bool takes_to_zero = false;
};

// Computes every value of the graph, node by node with reference code. Noise shows how far rounding
// at other places may move the outputs.
absl::StatusOr<TensorMap> Evaluate(const Graph& graph, const TensorMap& inputs, const Noise& noise);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_EVALUATE_H_
