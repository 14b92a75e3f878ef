// SPDX-License-Identifier: Apache-2.0
#include "graph/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_builder.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Graph> Sample() {
  GraphBuilder b;
  Value* ids = b.Input("ids", DataType::kInt64, {"batch", 4});
  Value* condition = b.Input("say \"c\"", DataType::kBool);
  Value* table = b.Constant<float>("table", {2, 1}, {1, 2});
  Value* shape = b.Constant<int64_t>("shape", {2}, {0, -1});
  Value* rows = b.Op("Gather", {table, ids}, {{"axis", int64_t{0}}});
  Value* flat = b.Op("Reshape", {rows, shape});
  GraphBuilder branch;
  branch.Output(branch.Op("com.microsoft::QuickGelu", {branch.Capture(flat), nullptr}));
  b.Output(
      b.Op("If", {condition}, {{"then_branch", std::shared_ptr<Graph>(branch.Build().value())}}));
  return b.Build().value();
}

TEST(DumpTest, TextShowsNodesTypesAndAttributes) {
  EXPECT_EQ(DumpText(*Sample()),
            R"(graph (%ids: int64[batch,4], %say "c": bool) -> (%If: ?) {
  %shape: int64[2] = initializer [0,-1]
  %table: float[2,1] = initializer
  %Gather: ? = Gather(%table, %ids) {axis=0}  # Gather_0
  %Reshape: ? = Reshape(%Gather, %shape)  # Reshape_0
  %If: ? = If(%say "c")  # If_0
    then_branch = () -> (%QuickGelu: ?) {
      %Reshape: ? = outer %Reshape
      %QuickGelu: ? = com.microsoft.QuickGelu(%Reshape, _)  # QuickGelu_0
    }
}
)");
}

TEST(DumpTest, DotQuotesNames) {
  const std::string dot = DumpDot(*Sample());
  EXPECT_THAT(dot, HasSubstr(R"("input ids" -> "node Gather_0" [label="int64[batch,4]"];)"));
  EXPECT_THAT(dot, HasSubstr(R"("input say \"c\"" -> "node If_0" [label="bool"];)"));
  EXPECT_THAT(dot, HasSubstr(R"("node Reshape_0" -> "node If_0")"));
  EXPECT_THAT(dot, HasSubstr(R"("node If_0" -> "output 0";)"));
}

TEST(DumpTest, NamesThatAreNotUtf8AreAccepted) {
  GraphBuilder b;
  b.Output(b.Input("\xff", DataType::kFloat));
  const std::unique_ptr<Graph> graph = b.Build().value();
  EXPECT_THAT(DumpText(*graph), HasSubstr("%\xff: float"));
}

}  // namespace
}  // namespace attnrun::testing
