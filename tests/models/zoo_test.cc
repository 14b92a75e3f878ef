#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "attnrun/session.h"
#include "models/archived_models.h"
#include "nlohmann/json.hpp"

// Every export in models/zoo.tar.xz, on every engine, against what PyTorch (or numpy) computed; and
// what the optimizer made of it against what the manifest expects.
namespace attnrun::testing {
namespace {

class Zoo : public ::testing::TestWithParam<Export> {
 protected:
  // Nodes of `op_type` (with its domain, if not ai.onnx) after optimization.
  static int64_t CountOptimized(const std::string& op_type) {
    const auto session = Session::Load(InModels(GetParam().file));
    EXPECT_TRUE(session.ok()) << session.status();
    if (!session.ok()) return -1;
    const auto counts = session->OpCounts();
    const auto found = counts.find(op_type);
    return found == counts.end() ? 0 : found->second;
  }

  // The manifest's count, or `open` where more than one answer is right.
  static int64_t Expected(const std::string& count, int64_t open) {
    const nlohmann::json& value = GetParam().expect.at(count);
    return value.is_null() ? open : value.get<int64_t>();
  }
};

TEST_P(Zoo, OptimizedAgrees) { CheckAllCases(GetParam(), Engine::kOptimized); }
TEST_P(Zoo, KernelsAloneAgree) { CheckAllCases(GetParam(), Engine::kUnoptimized); }
TEST_P(Zoo, ReferenceAgrees) { CheckAllCases(GetParam(), Engine::kReference); }

TEST_P(Zoo, NoMoreIsFusedThanExpected) {
  EXPECT_LE(CountOptimized("attnrun.Attention"), Expected("attention", INT64_MAX));
  EXPECT_GE(CountOptimized("Softmax"), Expected("softmax", 0));
}

INSTANTIATE_TEST_SUITE_P(Archive, Zoo, ::testing::ValuesIn(ReadManifest()), TestName);

}  // namespace
}  // namespace attnrun::testing
