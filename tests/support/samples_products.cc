// SPDX-License-Identifier: Apache-2.0
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

std::vector<SampleNode> ProductSamples() {
  const AttributeMap transposed = {{"transA", int64_t{1}}, {"transB", int64_t{1}}};
  return {
      {"MatMul", {F({2, 1, 3, 4}), F({5, 4, 6})}},
      {"MatMul", {F({4}), F({5, 4, 6})}},
      {"MatMul", {F({3, 4}), F({4})}},
      {"MatMul", {F({4}), F({4})}},
      {"Gemm", {F({3, 4}), F({4, 5}), F({5})}},
      {"Gemm", {F({4, 3}), F({5, 4})}, transposed},
      {"MatMul", {F({2, 1, 3, 4}), F({5, 4, 4})}},
      {"Gemm", {F({3, 4}), F({4, 5}), F({3, 1})}, {{"alpha", 0.5F}, {"beta", 2.0F}}},
      {"MatMulInteger", {Bytes({2, 3, 4}), Bytes({4, 5})}},
      {"MatMulInteger", {Bytes({2, 3, 4}), Bytes({4, 5}), Bytes({3}), Bytes({5})}},
      {"MatMulInteger", {Bytes({2, 3, 4}), Bytes({1, 4, 5}), Bytes({2, 3, 1}), Bytes({1, 1, 5})}},
      {"MatMulInteger", {Bytes({3, 4}), Bytes({2, 4, 5}), Bytes({1}), Bytes({2, 1, 5})}},
      {"Einsum", {F({2, 3, 4}), F({2, 5, 4})}, Words("equation", "bid,bjd->bij")},
      {"Einsum", {F({1, 3, 4}), F({2, 4, 5})}, Words("equation", "...ij,...jk")},
      {"Einsum", {F({2, 3, 3, 4}), F({4})}, Words("equation", "biid,d->dbi")},
      {"Einsum", {F({2, 4, 3, 5}), F({2, 4, 6, 5})}, Words("equation", "bhid,bhjd->hbij")},
      {"ReduceMean", {F({2, 3, 4}), I({-1})}},
      {"ReduceSum", {F({2, 3, 4}), I({0, 2})}, Int("keepdims", 0)},
      {"ReduceSum", {F({2, 3})}},
      {"ReduceSum", {F({2, 3})}, Int("noop_with_empty_axes", 1)},
      {"ReduceSum", {I({4, 5, 6}), I({0})}},
      {"ReduceProd", {I({4, 5, 6})}, Int("keepdims", 0)},
      {"ReduceProd", {I({})}},
      {"ReduceMax", {I({4, 6, 5})}},
      {"ReduceMin", {I({4, 6, 5}), I({0})}},
      {"ReduceMax", {I0(4)}},
      {"ReduceMean", {F({2, 3, 4})}, List("axes", {1}), 1, 13},
      {"CumSum", {F({2, 3}), I0(1)}},
      {"Softmax", {F({2, 3})}},
      {"Hardmax", {F({2, 3})}},
      {"ArgMax", {F({2, 3})}, Int("axis", -1)},
      {"ArgMin", {F({2, 3})}, Int("keepdims", 0)},
      {"TopK", {F({2, 5}), I({3})}, {}, 2},
      {"NonZero", {F({2, 3})}, {}, 1, 20, true},
      {"Unique", {I({3, 1, 3})}, {}, 4, 20, true},
      {"Unique", {F({2, 3})}, Int("axis", 1), 4, 20, true},
  };
}

std::vector<SampleNode> ReductionSamples() {
  const Tensor x = F({2, 3, 4});
  std::vector<SampleNode> samples = {
      {"ReduceSum", {x, I({1})}, Int("keepdims", 0)},
      {"Softmax", {x}, Int("axis", 1)},
      {"Softmax", {x}, Int("axis", 1), 1, 12},
      {"Softmax", {x}, Int("axis", 3), 1, 12},
      {"LogSoftmax", {x}, Int("axis", 0)},
      {"Hardmax", {x}},
      {"CumSum", {x, I0(-2)}, Int("exclusive", 1)},
      {"CumProd", {x, I0(0)}, {}, 1, 26},
      {"ArgMax", {x}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}},
      {"ArgMin", {x}, Int("axis", 1)},
      {"TopK", {x, I({2})}, Int("axis", 1), 2},
  };
  for (const char* name :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    samples.push_back({name, {x, I({-2})}});
  }
  return samples;
}

}  // namespace attnrun::testing
