// SPDX-License-Identifier: Apache-2.0
#include "state/initial_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/graph_builder.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The extents with which the input "state" begins, whose values each run computes anew.
absl::StatusOr<std::vector<Shape>> ShapesOf(std::initializer_list<DimSpec> dims) {
  GraphBuilder b;
  b.Input("ids", DataType::kInt64, {"batch", "step"});
  b.Output(b.Op("Relu", {b.Input("state", DataType::kFloat, dims)}));
  const std::unique_ptr<Graph> graph = b.Build().value();
  std::vector<ValueInfo> inputs;
  for (const Value* input : graph->inputs()) {
    inputs.push_back({input->name(), input->type().element, input->type().shape});
  }
  return state::InitialShapes(state::LazyNeeds(*graph), inputs,
                              {{"state", "next", StateKind::kReplaced}}, {.batch = 3});
}

TEST(InitialShapesTest, ARecurrentStateHasItsBatchAnywhere) {
  EXPECT_THAT(ShapesOf({"batch", 16}).value(), ElementsAre(Shape({3, 16})));
  EXPECT_THAT(ShapesOf({2, "batch", 16}).value(), ElementsAre(Shape({2, 3, 16})));
}

TEST(InitialShapesTest, ACacheOfAnUnknownLayoutIsRefused) {
  const absl::Status status = ShapesOf({2, "batch", 4, "past", 8}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("nothing is appended to input 'state'"));
  EXPECT_THAT(status.message(), HasSubstr("its extent 'past' is not fixed"));
}

}  // namespace
}  // namespace attnrun::testing
