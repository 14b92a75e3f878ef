// SPDX-License-Identifier: Apache-2.0
#include "state/carried_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <vector>

#include "support/graph_builder.h"

namespace attnrun {

// For messages, and comparison below.
void PrintTo(const StateValue& value, std::ostream* out) {
  *out << value.input << " -> " << value.output << " " << Name(value.kind) << " " << value.axis;
}

namespace testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MATCHER_P3(Carries, input, kind, axis, "") {
  return arg.input == input && arg.kind == kind && arg.axis == axis;
}

std::vector<StateValue> FoundIn(GraphBuilder& b) {
  absl::StatusOr<std::unique_ptr<Graph>> graph = b.Build();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? state::FindCarriedValues(**graph) : std::vector<StateValue>();
}

TEST(CarriedValuesTest, AnInputWithPositionsBehindIt) {
  GraphBuilder b;
  Value* cache = b.Input("a", DataType::kFloat, {"batch", 2, "past", 8});
  Value* step = b.Input("b", DataType::kFloat, {"batch", 2, "step", 8});
  b.Output(b.Op("Concat", {cache, step}, {{"axis", int64_t{-2}}}));
  EXPECT_THAT(FoundIn(b), ElementsAre(Carries("a", StateKind::kAppended, 2)));
}

TEST(CarriedValuesTest, PositionsBeforeAnInputMoveIt) {
  GraphBuilder b;
  Value* cache = b.Input("a", DataType::kFloat, {"batch", 2, "past", 8});
  Value* step = b.Op("Relu", {b.Input("b", DataType::kFloat, {"batch", 2, "step", 8})});
  b.Output(b.Op("Concat", {step, cache}, {{"axis", int64_t{2}}}));
  EXPECT_THAT(FoundIn(b), IsEmpty());
}

TEST(CarriedValuesTest, TheAxisIsThatOfTheInput) {
  GraphBuilder b;
  Value* cache = b.Input("a", DataType::kFloat, {"batch", "past", 2, 8});
  Value* step = b.Input("b", DataType::kFloat, {"batch", 2, "step", 8});
  const std::vector<int64_t> perm = {0, 2, 1, 3};
  Value* turned = b.Op("Transpose", {cache}, {{"perm", perm}});
  Value* longer = b.Op("Concat", {turned, step}, {{"axis", int64_t{2}}});
  b.Output(b.Op("Transpose", {longer}, {{"perm", perm}}));
  EXPECT_THAT(FoundIn(b), ElementsAre(Carries("a", StateKind::kAppended, 1)));
}

TEST(CarriedValuesTest, AWindowDropsPositions) {
  GraphBuilder b;
  Value* cache = b.Input("a", DataType::kFloat, {"batch", 2, 16, 8});
  Value* step = b.Input("b", DataType::kFloat, {"batch", 2, "step", 8});
  Value* longer = b.Op("Concat", {cache, step}, {{"axis", int64_t{2}}});
  Value* begin = b.Constant<int64_t>("begin", {1}, {-16});
  Value* end = b.Constant<int64_t>("end", {1}, {1 << 30});
  Value* axis = b.Constant<int64_t>("axis", {1}, {2});
  b.Output(b.Op("Slice", {longer, begin, end, axis}));
  EXPECT_THAT(FoundIn(b), ElementsAre(Carries("a", StateKind::kWindow, 2)));
}

TEST(CarriedValuesTest, AStaticCacheIsWritten) {
  GraphBuilder b;
  Value* cache = b.Input("a", DataType::kFloat, {"batch", 2, 16, 8});
  Value* step = b.Input("b", DataType::kFloat, {"batch", 2, "step", 8});
  Value* at = b.Input("at", DataType::kInt64, {"batch", 2, "step", 8});
  b.Output(b.Op("ScatterElements", {cache, at, step}, {{"axis", int64_t{2}}}));
  EXPECT_THAT(FoundIn(b), ElementsAre(Carries("a", StateKind::kWritten, 2)));
}

TEST(CarriedValuesTest, NamesTellWhereTheGraphDoesNot) {
  GraphBuilder b;
  Value* state = b.Input("past_state", DataType::kFloat, {"batch", 8});
  Value* other = b.Input("other", DataType::kFloat, {"batch", 8});
  Value* sum = b.Op("Add", {state, other});
  b.Output(sum);
  absl::StatusOr<std::unique_ptr<Graph>> graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_THAT(state::FindCarriedValues(**graph), IsEmpty());
  (*graph)->Rename(sum, "present_state");
  EXPECT_THAT(state::FindCarriedValues(**graph),
              ElementsAre(Carries("past_state", StateKind::kReplaced, -1)));
}

}  // namespace
}  // namespace testing
}  // namespace attnrun
