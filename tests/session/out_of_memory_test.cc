// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "attnrun/session.h"
#include "core/same_bits.h"
#include "session/failing_models.h"
#include "support/failing_calls.h"
#include "support/failing_malloc.h"

// Every allocation of a run fails in turn: alone, and with all that follow.
namespace attnrun::testing {
namespace {

class OutOfMemoryTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (!CanFailAllocations()) GTEST_SKIP() << "a sanitizer has the allocator";
  }
};

SessionOptions Options(Engine engine) {
  SessionOptions options;
  options.threads = 1;
  options.engine = engine;
  return options;
}

TEST_P(OutOfMemoryTest, Run) {
  const TensorMap inputs = FailingInputs();
  for (const onnx::ModelProto& model : {LayerModel(), LoopModel()}) {
    const std::string bytes = model.SerializeAsString();
    for (const Engine engine : {Engine::kOptimized, Engine::kUnoptimized, Engine::kReference}) {
      const auto session = Session::LoadBytes(bytes, Options(engine));
      ASSERT_TRUE(session.ok()) << session.status();
      const TensorMap expected = session->Run(inputs).value();
      const auto run = [&] {
        const auto outputs = session->Run(inputs);
        EXPECT_TRUE(!outputs.ok() || SameBits(*outputs, expected));
        return outputs.status();
      };
      FailEach({.call = run}, GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(One, OutOfMemoryTest, ::testing::Values(1));
INSTANTIATE_TEST_SUITE_P(AllFrom, OutOfMemoryTest,
                         ::testing::Values(std::numeric_limits<int64_t>::max()));

}  // namespace
}  // namespace attnrun::testing
