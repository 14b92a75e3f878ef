// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "attnrun/session.h"
#include "core/same_bits.h"
#include "session/failing_models.h"
#include "session/load_tester.h"
#include "support/failing_malloc.h"

// Allocations of a load fail in turn: alone, and with all that follow.
namespace attnrun::testing {
namespace {

namespace fs = std::filesystem;

class LoadOutOfMemoryTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (!CanFailAllocations()) GTEST_SKIP() << "a sanitizer has the allocator";
  }
};

SessionOptions Options(Engine engine = Engine::kOptimized) {
  SessionOptions options;
  options.threads = 1;
  options.engine = engine;
  return options;
}

TEST_P(LoadOutOfMemoryTest, Bytes) {
  // All of them take minutes.
  constexpr int64_t kStride = 53;
  for (const onnx::ModelProto& model : {LayerModel(), LoopModel()}) {
    const std::string bytes = model.SerializeAsString();
    for (const Engine engine : {Engine::kOptimized, Engine::kUnoptimized, Engine::kReference}) {
      SCOPED_TRACE(static_cast<int>(engine));
      FailLoads([&] { return Session::LoadBytes(bytes, Options(engine)); }, FailingInputs(),
                GetParam(), kStride);
    }
  }
}

// Packs weights and writes them.
TEST_P(LoadOutOfMemoryTest, WritesWeightCache) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("m.onnx", LayerModel().SerializeAsString());
  SessionOptions options = Options();
  options.weight_cache = folder.path("cache");
  const auto load = [&] { return Session::Load(path, options); };
  const auto clean = [&] {
    // A failure leaves nothing half written.
    if (fs::exists(options.weight_cache)) {
      for (const auto& file : fs::directory_iterator(options.weight_cache)) {
        EXPECT_NE(file.path().extension(), ".tmp");
      }
      EXPECT_TRUE(SameBits(load()->Run(FailingInputs()).value(),
                           Session::Load(path, Options())->Run(FailingInputs()).value()));
    }
    fs::remove_all(options.weight_cache);
  };
  FailLoads(load, FailingInputs(), GetParam(), 3, clean);
}

TEST_P(LoadOutOfMemoryTest, ReadsWeightCache) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("m.onnx", LayerModel().SerializeAsString());
  SessionOptions options = Options();
  options.weight_cache = folder.path("cache");
  options.map_files = false;
  FailLoads([&] { return Session::Load(path, options); }, FailingInputs(), GetParam(), 3);
}

INSTANTIATE_TEST_SUITE_P(One, LoadOutOfMemoryTest, ::testing::Values(1));
INSTANTIATE_TEST_SUITE_P(AllFrom, LoadOutOfMemoryTest,
                         ::testing::Values(std::numeric_limits<int64_t>::max()));

}  // namespace
}  // namespace attnrun::testing
