// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "attnrun/session.h"
#include "models/archived_models.h"
#include "session/load_tester.h"
#include "support/failing_malloc.h"

// Allocations of loads of quantized models fail: alone, and with all that follow. A prime stride
// meets other places in each repeated layer.
namespace attnrun::testing {
namespace {

class ModelsOutOfMemoryTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (!CanFailAllocations()) GTEST_SKIP() << "a sanitizer has the allocator";
  }

  // `folder` has the first case's inputs.
  static void FailLoadsOf(const std::string& folder, const std::string& file) {
    SessionOptions options;
    options.threads = 1;
    constexpr int64_t kStride = 97;
    const std::string path = InModels(folder + "/" + file);
    FailLoads([&] { return Session::Load(path, options); }, ReadNpz(folder + "/case0.inputs.npz"),
              GetParam(), kStride);
  }
};

TEST_P(ModelsOutOfMemoryTest, Bert) { FailLoadsOf("bert-q4-16-points", "eager-ts.onnx"); }
TEST_P(ModelsOutOfMemoryTest, Decoder) { FailLoadsOf("llama-genai-q4-32", "eager-genai.onnx"); }

INSTANTIATE_TEST_SUITE_P(One, ModelsOutOfMemoryTest, ::testing::Values(1));
INSTANTIATE_TEST_SUITE_P(AllFrom, ModelsOutOfMemoryTest,
                         ::testing::Values(std::numeric_limits<int64_t>::max()));

}  // namespace
}  // namespace attnrun::testing
