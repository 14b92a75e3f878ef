// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "attnrun/session.h"
#include "models/archived_models.h"
#include "nlohmann/json.hpp"

// Every export in models/zoo.tar.xz, on every engine, compared with the outputs of PyTorch (or
// numpy); and the operators after optimization, compared with the counts in the manifest.
namespace attnrun::testing {
namespace {

class Zoo : public ::testing::TestWithParam<Export> {
 protected:
  // Compares a count with the manifest; null means that more than one count is right.
  static void ExpectCount(const char* what, int64_t found) {
    const nlohmann::json& expected = GetParam().expect.at(what);
    if (!expected.is_null()) {
      EXPECT_EQ(found, expected.get<int64_t>()) << what;
    }
  }
};

TEST_P(Zoo, OptimizedAgrees) { CheckAllCases(GetParam(), Engine::kOptimized); }
TEST_P(Zoo, KernelsAloneAgree) { CheckAllCases(GetParam(), Engine::kUnoptimized); }
TEST_P(Zoo, ReferenceAgrees) { CheckAllCases(GetParam(), Engine::kReference); }

TEST_P(Zoo, FusesWhatIsExpected) {
  const std::string& file = GetParam().file;
  const auto session = Session::Load(InModels(file));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto counts = session->OpCounts();
  const auto count_of = [&](const char* op_type) {
    const auto found = counts.find(op_type);
    return found == counts.end() ? 0 : found->second;
  };
  int64_t merges = 0;
  std::string reasons;
  for (const Rewrite& rewrite : session->Rewrites()) {
    merges += rewrite.applied &&
              (rewrite.pass == "qkv_projection" || rewrite.pass == "sibling_projection");
    if (!rewrite.applied) reasons += rewrite.reason + "\n";
  }
  ExpectCount("attention", count_of("attnrun.Attention"));
  ExpectCount("softmax", count_of("Softmax"));
  ExpectCount("linears", count_of("attnrun.Linear"));
  ExpectCount("qkv_merges", merges);
  EXPECT_THAT(reasons, ::testing::Not(::testing::HasSubstr("no fixpoint")));
  const nlohmann::json& reason = GetParam().expect.at("reason");
  if (!reason.is_null()) {
    EXPECT_THAT(reasons, ::testing::HasSubstr(reason.get<std::string>()));
  }
}

TEST_P(Zoo, RunsOnMadeUpInputs) { CheckMadeUpRun(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Archive, Zoo, ::testing::ValuesIn(ReadManifest()), TestName);

}  // namespace
}  // namespace attnrun::testing
