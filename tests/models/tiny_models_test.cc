// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models/archived_models.h"

// Every export in models/tiny.tar.xz, on every engine, compared with the outputs of PyTorch.
namespace attnrun::testing {
namespace {

class TinyModels : public ::testing::TestWithParam<Export> {};

TEST_P(TinyModels, OptimizedAgreesWithPyTorch) { CheckAllCases(GetParam(), Engine::kOptimized); }
TEST_P(TinyModels, KernelsAloneAgreeWithPyTorch) {
  CheckAllCases(GetParam(), Engine::kUnoptimized);
}
TEST_P(TinyModels, ReferenceAgreesWithPyTorch) { CheckAllCases(GetParam(), Engine::kReference); }

TEST_P(TinyModels, RunsOnMadeUpInputs) { CheckMadeUpRun(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Archive, TinyModels, ::testing::ValuesIn(ReadManifest()), TestName);

}  // namespace
}  // namespace attnrun::testing
