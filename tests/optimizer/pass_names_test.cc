// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/optimizer.h"
#include "optimizer/pipeline.h"
#include "support/optimizer_tester.h"

namespace attnrun::opt {
namespace {

bool Double(RuleContext&, Node* sum, Patch& patch) {
  if (sum->input(0) != sum->input(1)) return false;
  Value* two = patch.Constant("two", Tensor::Of<float>({}, {2}));
  patch.Supersede({sum});
  patch.Replace(sum->output(0), patch.Op("Mul", {sum->input(0), two}));
  return true;
}

const Rule kDoubling = {.name = "doubling",
                        .summary = "x + x becomes x * 2",
                        .anchors = {"Add"},
                        .propose = Double,
                        .aliases = {"twofold", "sums_of_equals"}};

}  // namespace

// Linked in place of the pipeline's phases.
const std::vector<Phase>& Phases() {
  static const auto* const phases = new std::vector<Phase>{{"doublings", {&kDoubling}}};
  return *phases;
}

}  // namespace attnrun::opt

namespace attnrun::testing {
namespace {

OptimizerTester Sum(const opt::OptimizerOptions& options) {
  return OptimizerTester(
      [](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", 8});
        b.Output(b.Op("Identity", {b.Op("Add", {x, x})}));
      },
      options);
}

TEST(PassNamesTest, AnAliasDisablesTheRule) {
  EXPECT_EQ(Sum({}).Ops(), "Mul");
  for (const char* name : {"doubling", "twofold", "sums_of_equals"}) {
    EXPECT_EQ(Sum({.disabled_passes = {name}}).Ops(), "Add") << name;
  }
}

TEST(PassNamesTest, AnAliasIsTheLastRuleToRun) {
  EXPECT_EQ(Sum({.stop_after = "sums_of_equals"}).Ops(), "Mul");
  EXPECT_EQ(Sum({.stop_after = "views"}).Ops(), "Add");
}

TEST(PassNamesTest, ReportsCallTheRuleByItsName) {
  const OptimizerTester test = Sum({});
  EXPECT_EQ(test.Applied("doubling"), 1);
  EXPECT_EQ(test.Applied("twofold"), 0);
  EXPECT_THAT(opt::PassNames(), ::testing::Contains("doubling"));
  EXPECT_THAT(opt::PassNames(), ::testing::Not(::testing::Contains("twofold")));
}

TEST(PassNamesTest, OtherNamesAreRefused) {
  for (const char* name : {"two", "twofol", "Doubling", "doublings"}) {
    Graph graph;
    const opt::OptimizerOptions disabled = {.disabled_passes = {name}};
    const opt::OptimizerOptions last = {.stop_after = name};
    for (const opt::OptimizerOptions& options : {disabled, last}) {
      const absl::Status status = opt::Optimize(graph, options).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
      EXPECT_THAT(status.message(), ::testing::HasSubstr("the passes are constant_folding"));
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
