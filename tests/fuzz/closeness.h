// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_CLOSENESS_H_
#define ATTNRUN_TESTS_FUZZ_CLOSENESS_H_

#include <string>
#include <vector>

#include "fuzz/evaluate.h"

namespace attnrun::testing {

// The results of a graph on given inputs, and the error that another order of rounding may cause.
// The allowed error is the distance by which a few epsilons of noise on every value move each
// element, with a margin.
class Expectation {
 public:
  Expectation(const Graph& graph, const TensorMap& inputs);

  // False if the reference refuses the inputs, if a Reshape copies an extent because a computed one
  // happens to be 0, or if noise changes a shape or turns an element into or out of NaN or
  // infinity. Rounding alone can cause the last two, so such results prove nothing.
  bool known() const { return known_; }
  const TensorMap& values() const { return exact_; }

  // Describes how `actual` differs from the value of that name; empty if it does not. Integers that
  // noise changes are not compared. With kernels NaN may become a number, because kernels do not
  // compute masked elements.
  std::string Difference(const std::string& name, const Tensor& actual, bool kernels) const;

 private:
  bool known_ = false;
  TensorMap exact_;
  std::vector<TensorMap> noisy_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_CLOSENESS_H_
