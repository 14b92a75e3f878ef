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

}  // namespace
}  // namespace attnrun::testing
