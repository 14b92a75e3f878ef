#ifndef ATTNRUN_TESTS_FUZZ_EVALUATE_H_
#define ATTNRUN_TESTS_FUZZ_EVALUATE_H_

#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "fuzz/draft.h"

namespace attnrun::testing {

// A graph and what to run it on: one map of inputs for each choice of its symbolic dimensions.
struct Trial {
  Draft draft;
  std::vector<TensorMap> bindings;
};

// Every value of the graph, computed node by node with reference code. With a `noise`, each element
// of floating-point inputs and results moves by up to that many of its type's epsilons, of its own
// size and of its tensor's typical one (a small sum of large terms is as wrong as those are), which
// shows how far rounding in other places may move the outputs. Zeros stay, and so does what holds
// nothing but whole numbers.
absl::StatusOr<TensorMap> Evaluate(const Graph& graph, const TensorMap& inputs, double noise,
                                   std::mt19937& generator);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_EVALUATE_H_
