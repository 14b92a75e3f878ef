// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

// An attention of one head without samples; its products are Gemms.
OptimizerTester GemmAttention(int64_t transposed, float alpha, float beta) {
  return OptimizerTester([=](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {"seq", 8});
    Value* k = b.Input("k", DataType::kFloat, {"seq", 8});
    Value* v = b.Input("v", DataType::kFloat, {"seq", 8});
    Value* bias = b.Input("bias", DataType::kFloat, {"seq", "seq"});
    if (transposed == 0) k = Transposed(b, k, {1, 0});
    Value* s =
        b.Op("Gemm", {q, k, bias}, {{"transB", transposed}, {"alpha", alpha}, {"beta", beta}});
    b.Output(b.Op("Gemm", {b.Op("Softmax", {s}), v}));
  });
}

TEST(LinearTest, GemmsOfAnAttentionAreFused) {
  for (const int64_t transposed : {0, 1}) {
    ExpectOneAttention(GemmAttention(transposed, 0.5F, 1), kAttentionTolerance);
    ExpectOneAttention(GemmAttention(transposed, 1, 2), kAttentionTolerance);
  }
}

TEST(LinearTest, OtherGemmsStay) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"seq", 8});
    b.Output(b.Op("Relu", {b.Op("Gemm", {x, x}, {{"transB", int64_t{1}}})}));
  });
  EXPECT_EQ(test.Ops(), "Gemm Relu");
  test.ExpectSameResults(8 * kEpsilon);
}

// No run of it succeeds, and none must.
TEST(LinearTest, AGemmOfMoreAxesStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 8});
    Value* weight = b.Constant("w", *Tensor::Of<float>({8, 4}, std::vector<float>(32, 0.5F)));
    b.Output(b.Op("Gemm", {x, weight}));
  });
  EXPECT_EQ(test.Ops(), "Gemm");
}

}  // namespace
}  // namespace attnrun::testing
