// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models/archived_models.h"

// Models whose weights have 4 or 8 bits, in models/quantized.tar.xz, on every engine, against what
// ONNX Runtime computed.
namespace attnrun::testing {
namespace {

class QuantizedModels : public ::testing::TestWithParam<Export> {};

TEST_P(QuantizedModels, OptimizedAgrees) { CheckAllCases(GetParam(), Engine::kOptimized); }
TEST_P(QuantizedModels, KernelsAloneAgree) { CheckAllCases(GetParam(), Engine::kUnoptimized); }
TEST_P(QuantizedModels, ReferenceAgrees) { CheckAllCases(GetParam(), Engine::kReference); }

INSTANTIATE_TEST_SUITE_P(Archive, QuantizedModels, ::testing::ValuesIn(ReadManifest()), TestName);

}  // namespace
}  // namespace attnrun::testing
