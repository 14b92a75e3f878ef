// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "graph/checker.h"
#include "loader/loader.h"
#include "models/archived_models.h"
#include "optimizer/optimizer.h"

// After one run of the optimizer the graph is sound, and a second run finds nothing to do.
namespace attnrun::testing {
namespace {

class Idempotent : public ::testing::TestWithParam<Export> {};

std::string Describe(const Rewrite& rewrite) {
  return rewrite.pass + " at " + (rewrite.nodes.empty() ? "views" : rewrite.nodes[0]);
}

TEST_P(Idempotent, ASecondRunAppliesNothing) {
  auto model = loader::LoadModel(InModels(GetParam().file));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto first = opt::Optimize(*model->graph, {});
  ASSERT_TRUE(first.ok()) << first.status();
  for (const Rewrite& rewrite : *first) {
    EXPECT_THAT(rewrite.reason, ::testing::Not(::testing::HasSubstr("no fixpoint")));
  }
  EXPECT_TRUE(CheckGraph(*model->graph).ok()) << CheckGraph(*model->graph);
  const auto second = opt::Optimize(*model->graph, {});
  ASSERT_TRUE(second.ok()) << second.status();
  for (const Rewrite& rewrite : *second) {
    EXPECT_FALSE(rewrite.applied) << Describe(rewrite);
  }
}

INSTANTIATE_TEST_SUITE_P(Archive, Idempotent, ::testing::ValuesIn(ReadManifest()), TestName);

}  // namespace
}  // namespace attnrun::testing
