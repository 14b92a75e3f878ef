// SPDX-License-Identifier: Apache-2.0
// The report of `attnrun compare` on a model that a rewrite breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/archived_models.h"
#include "nlohmann/json.hpp"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/pipeline.h"
#include "optimizer/rewrite/patch.h"
#include "tools/attnrun/commands.h"

namespace attnrun::opt {
namespace {

// A rule that runs after all others; null for none.
const Rule* added_rule = nullptr;

// Adds a rule to the pipeline while it exists.
class ScopedRule {
 public:
  explicit ScopedRule(const Rule& rule) { added_rule = &rule; }
  ScopedRule(const ScopedRule&) = delete;
  ScopedRule& operator=(const ScopedRule&) = delete;
  ~ScopedRule() { added_rule = nullptr; }
};

}  // namespace

// The linker takes this definition instead of the library's.
const std::vector<Phase>& Phases() {
  static auto* const phases = new std::vector<Phase>;
  *phases = StandardPhases();
  if (added_rule != nullptr) phases->push_back({"added", {added_rule}});
  return *phases;
}

}  // namespace attnrun::opt

namespace attnrun::cli {
namespace {

using ::testing::HasSubstr;

constexpr float kWrongEpsilon = 1;

// A wrong rewrite: changes the epsilon of the third normalization.
absl::StatusOr<int> SpoilThirdNormalization(opt::RuleContext& context) {
  int count = 0;
  for (Node* node : context.graph.nodes()) {
    if (!opt::IsOp(node, "LayerNormalization") || ++count < 3) continue;
    if (opt::AttributeOr(*node, "epsilon", 0.0F) == kWrongEpsilon) return 0;
    opt::Patch patch(context);
    AttributeMap attributes = node->attributes();
    attributes["epsilon"] = kWrongEpsilon;
    patch.Rewrite(node, node->inputs(), attributes);
    return patch.Apply();
  }
  return 0;
}

// A rewrite that makes the run fail: a slice of columns that the third normalization does not have.
absl::StatusOr<int> BreakThirdNormalization(opt::RuleContext& context) {
  int count = 0;
  for (Node* node : context.graph.nodes()) {
    if (!opt::IsOp(node, "LayerNormalization") || ++count < 3) continue;
    if (opt::IsOp(node->output(0)->consumers()[0], "Gather")) return 0;
    opt::Patch patch(context);
    patch.Supersede({node});
    Value* rows = patch.Op("LayerNormalization", node->inputs(), node->attributes(), node->name());
    const std::vector<int64_t> columns(32, 1000);
    patch.Replace(node->output(0),
                  patch.Op("Gather", {rows, patch.Ints(columns)}, {{"axis", int64_t{-1}}}));
    return patch.Apply();
  }
  return 0;
}

struct Outcome {
  int status = -1;
  std::string out;
};

Outcome Compare(const Options& options) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const absl::StatusOr<int> status = CompareEngines(options);
  Outcome outcome{-1, ::testing::internal::GetCapturedStdout()};
  ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(status.ok()) << status.status();
  if (status.ok()) outcome.status = *status;
  return outcome;
}

Options OnTinyBert() {
  Options options;
  options.command = "compare";
  options.model = attnrun::testing::InModels("bert/sdpa-dyn.onnx");
  return options;
}

// The report as JSON.
nlohmann::json Report(Options options, int status) {
  options.json = true;
  const Outcome outcome = Compare(options);
  EXPECT_EQ(outcome.status, status);
  return nlohmann::json::parse(outcome.out);
}

TEST(CompareTest, ValuesKeepTheirNamesThroughRewrites) {
  const auto json = Report(OnTinyBert(), kFine);
  // Includes every Linear, normalization and attention, under the names of the values they replace.
  EXPECT_GE(json["compared"], 17);
  EXPECT_EQ(json["diverging"], 0);
  EXPECT_TRUE(json["culprit"].is_null());
}

TEST(CompareTest, TheWrongRewriteIsNamed) {
  const opt::Rule rule = {.name = "wrong", .summary = "", .run = SpoilThirdNormalization};
  const opt::ScopedRule wrong(rule);
  const Outcome text = Compare(OnTinyBert());
  EXPECT_EQ(text.status, kComparisonFailed);
  EXPECT_THAT(text.out, HasSubstr("differs with rewrite "));
  EXPECT_THAT(text.out, HasSubstr("  pass      wrong\n"));
  const auto json = Report(OnTinyBert(), kComparisonFailed);
  const auto& culprit = json["culprit"];
  EXPECT_EQ(culprit["pass"], "wrong");
  EXPECT_EQ(culprit["body"], "");
  EXPECT_EQ(culprit["nodes"].size(), 1);
  EXPECT_THAT(culprit["nodes"][0], HasSubstr("layer_norm"));
  // Correct rewrites come before the wrong one and after it.
  EXPECT_GT(culprit["number"], 10);
  EXPECT_LE(culprit["number"], culprit["rewrites"]);
  EXPECT_FALSE(json["first_divergence"].is_null());
}

TEST(CompareTest, TheRewriteThatMakesAModelFailIsNamed) {
  const opt::Rule rule = {.name = "broken", .summary = "", .run = BreakThirdNormalization};
  const opt::ScopedRule broken(rule);
  const Outcome text = Compare(OnTinyBert());
  EXPECT_EQ(text.status, kComparisonFailed);
  EXPECT_THAT(text.out, HasSubstr("fails with rewrite "));
  EXPECT_THAT(text.out, HasSubstr("  pass      broken\n"));
  EXPECT_THAT(text.out, HasSubstr("  replaced  node_layer_norm_2"));
  const auto json = Report(OnTinyBert(), kComparisonFailed);
  EXPECT_EQ(json["culprit"]["pass"], "broken");
  EXPECT_THAT(json["failure"].get<std::string>(), HasSubstr("(Gather)"));
}

TEST(CompareTest, AModelThatFailsWithoutRewritesIsNotBisected) {
  Options options = OnTinyBert();
  // The length exceeds the position table.
  options.inputs.dims = {{"sequence", 1000}};
  ::testing::internal::CaptureStderr();
  const absl::StatusOr<int> status = CompareEngines(options);
  ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(status.ok());
}

TEST(CompareTest, ADifferenceOfTheKernelsIsNotBlamedOnARewrite) {
  Options options = OnTinyBert();
  // Kernels and reference round at different places.
  options.tolerance.atol = 0;
  const Outcome outcome = Compare(options);
  EXPECT_EQ(outcome.status, kComparisonFailed);
  EXPECT_THAT(outcome.out, HasSubstr("differs without any rewrite, so a kernel is the cause"));
}

}  // namespace
}  // namespace attnrun::cli
