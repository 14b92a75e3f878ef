// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_CLOSENESS_H_
#define ATTNRUN_TESTS_FUZZ_CLOSENESS_H_

#include <string>
#include <vector>

#include "fuzz/evaluate.h"

namespace attnrun::testing {

// What a graph computes on given inputs, and how far off another order of rounding may be: as far
// as a few epsilons of noise on every value move each element, with room to spare.
class Expectation {
 public:
  Expectation(const Graph& graph, const TensorMap& inputs);

  // False where the reference refuses the inputs, where a Reshape copies an extent because a
  // computed one happens to be 0, and where noise changes a shape or turns an element to or from
  // NaN or infinity: that may come and go with any rounding.
  bool known() const { return known_; }
  const TensorMap& values() const { return exact_; }

  // How `actual` differs from the value of that name; empty if it does not. Integers that noise
  // changes are not compared. With kernels NaN may become a number: what is masked is not computed,
  // though it be NaN.
  std::string Difference(const std::string& name, const Tensor& actual, bool kernels) const;

 private:
  bool known_ = false;
  TensorMap exact_;
  std::vector<TensorMap> noisy_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_CLOSENESS_H_
