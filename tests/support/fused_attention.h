// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_FUSED_ATTENTION_H_
#define ATTNRUN_TESTS_SUPPORT_FUSED_ATTENTION_H_

#include <string>

#include "support/op_tester.h"

// Tests of the operator attnrun.Attention.
namespace attnrun::testing {

inline OpTester AttentionTester() { return OpTester("Attention", 1, "attnrun"); }

inline OpTester WithLayouts(const std::string& q, const std::string& k, const std::string& v) {
  OpTester op = AttentionTester();
  op.Attribute("q_layout", q).Attribute("k_layout", k).Attribute("v_layout", v);
  return op;
}

// One query of 1, keys 0 and 1, values 2 and 4, so the scores equal the keys.
inline OpTester TwoKeys() {
  OpTester op = WithLayouts("s h", "s h", "s h");
  op.Input(Make<float>({1, 1}, {1})).Input(Make<float>({2, 1}, {0, 1}));
  op.Input(Make<float>({2, 1}, {2, 4})).Outputs(2);
  return op;
}

// The same bound as for the standard's Attention: scores up to a few dozen are off by about
// sqrt(head size) roundings, which become relative errors of their weights. A float16 result is
// rounded once more, perhaps to the other neighbor.
inline double AttentionTolerance(const Tensor& tensor) {
  return tensor.type() == DataType::kFloat ? 100 * kEpsilon : Epsilon(tensor.type());
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_FUSED_ATTENTION_H_
