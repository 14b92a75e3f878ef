// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft, compared with the results of ONNX Runtime 1.31.
#include <gtest/gtest.h>

#include "optimizer/rules/stored_cases.h"

namespace attnrun::testing {
namespace {

void CheckGroup(const char* group) { CheckStoredCases(ATTNRUN_CONTRIB_CASES, group); }

TEST(ContribCasesTest, Activations) { CheckGroup("Activations"); }
TEST(ContribCasesTest, Products) { CheckGroup("Products"); }
TEST(ContribCasesTest, Normalizations) { CheckGroup("Normalizations"); }
TEST(ContribCasesTest, Rotation) { CheckGroup("Rotation"); }
TEST(ContribCasesTest, Attention) { CheckGroup("Attention"); }
TEST(ContribCasesTest, MultiHeadAttention) { CheckGroup("MultiHeadAttention"); }
TEST(ContribCasesTest, GroupQueryAttention) { CheckGroup("GroupQueryAttention"); }
TEST(ContribCasesTest, Gates) { CheckGroup("Gates"); }
TEST(ContribCasesTest, LinearAttention) { CheckGroup("LinearAttention"); }
TEST(ContribCasesTest, CausalConvWithState) { CheckGroup("CausalConvWithState"); }
TEST(ContribCasesTest, MRotaryEmbedding) { CheckGroup("MRotaryEmbedding"); }
TEST(ContribCasesTest, Experts) { CheckGroup("Experts"); }
TEST(ContribCasesTest, SparseAttention) { CheckGroup("SparseAttention"); }
TEST(ContribCasesTest, Convolutions) { CheckGroup("Convolutions"); }

}  // namespace
}  // namespace attnrun::testing
