// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models/archived_models.h"

// The models with 4-bit and 8-bit weights in models/quantized.tar.xz, on every engine, compared
// with the outputs of ONNX Runtime.
namespace attnrun::testing {
namespace {

class QuantizedModels : public ::testing::TestWithParam<Export> {};

TEST_P(QuantizedModels, OptimizedAgrees) { CheckAllCases(GetParam(), Engine::kOptimized); }
TEST_P(QuantizedModels, KernelsAloneAgree) { CheckAllCases(GetParam(), Engine::kUnoptimized); }
TEST_P(QuantizedModels, ReferenceAgrees) { CheckAllCases(GetParam(), Engine::kReference); }

INSTANTIATE_TEST_SUITE_P(Archive, QuantizedModels, ::testing::ValuesIn(ReadManifest()), TestName);

}  // namespace
}  // namespace attnrun::testing
