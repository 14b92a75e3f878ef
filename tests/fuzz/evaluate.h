// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_EVALUATE_H_
#define ATTNRUN_TESTS_FUZZ_EVALUATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/draft.h"

namespace attnrun::testing {

// A graph and what to run it on: one map of inputs for each choice of its symbolic dimensions.
struct Trial {
  Draft draft;
  std::vector<TensorMap> bindings;
};

// Each element of floating-point inputs and results moves by up to so many of its type's epsilons,
// of its own size and of its tensor's typical one (a small sum of large terms is as wrong as those
// are), a Gelu's of 1 besides, which its kernels are as close to as 1 + erf(x) in float would be.
// Zeros stay, and so does what holds nothing but whole numbers.
struct Noise {
  double epsilons = 0;
  uint32_t seed = 1;
  // What may become 0 does, as where it underflows: what is divided by it is infinite then.
  bool takes_to_zero = false;
};

// Every value of the graph, computed node by node with reference code. Noise shows how far rounding
// in other places may move the outputs.
absl::StatusOr<TensorMap> Evaluate(const Graph& graph, const TensorMap& inputs, const Noise& noise);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_EVALUATE_H_
