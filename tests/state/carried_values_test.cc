// SPDX-License-Identifier: Apache-2.0
#include "state/carried_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

std::vector<StateValue> FoundIn(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* output : graph.outputs()) names.push_back(output->name());
  return state::FindCarriedValues(graph, names);
}

std::vector<StateValue> FoundIn(GraphBuilder& b) {
  absl::StatusOr<std::unique_ptr<Graph>> graph = b.Build();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? FoundIn(**graph) : std::vector<StateValue>();
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

TEST(CarriedValuesTest, AnInputWithoutTheAxisIsReplaced) {
  GraphBuilder b;
  Value* cache = b.Input("a", DataType::kFloat, {2, 3});
  Value* shape = b.Constant<int64_t>("shape", {4}, {1, 1, 2, 3});
  Value* step = b.Input("b", DataType::kFloat, {1, 1, 2, "step"});
  Value* longer = b.Op("Concat", {b.Op("Reshape", {cache, shape}), step}, {{"axis", int64_t{3}}});
  b.Output(b.Op("Reshape", {longer, b.Input("c", DataType::kInt64, {"rank"})}));
  EXPECT_THAT(FoundIn(b), ElementsAre(Carries("a", StateKind::kReplaced, -1)));
}

// Keys and values in one tensor: the output is put together anew.
TEST(CarriedValuesTest, APartOfAnInputIsNotAppendedTo) {
  GraphBuilder b;
  Value* cache = b.Input("past", DataType::kFloat, {2, "batch", 2, "positions", 8});
  std::vector<Value*> parts;
  for (const int64_t i : {0, 1}) {
    Value* part = b.Op("Gather", {cache, b.Constant<int64_t>(absl::StrCat("at", i), {}, {i})});
    Value* step = b.Input(absl::StrCat("step", i), DataType::kFloat, {"batch", 2, "step", 8});
    Value* appended = b.Op("Concat", {part, step}, {{"axis", int64_t{2}}});
    parts.push_back(b.Op("Unsqueeze", {appended, b.Constant<int64_t>("front", {1}, {0})}));
  }
  b.Output(b.Op("Concat", parts, {{"axis", int64_t{0}}}));
  EXPECT_THAT(FoundIn(b), ElementsAre(Carries("past", StateKind::kReplaced, -1)));
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

TEST(CarriedValuesTest, AWindowHasAnExtent) {
  for (const int64_t last : {-16, 3}) {
    GraphBuilder b;
    Value* cache = b.Input("a", DataType::kFloat, {"batch", 2, "past", 8});
    Value* step = b.Input("b", DataType::kFloat, {"batch", 2, "step", 8});
    Value* longer = b.Op("Concat", {cache, step}, {{"axis", int64_t{2}}});
    Value* begin = b.Constant<int64_t>("begin", {1}, {last});
    Value* end = b.Constant<int64_t>("end", {1}, {INT64_MAX});
    Value* axis = b.Constant<int64_t>("axis", {1}, {2});
    b.Output(b.Op("Slice", {longer, begin, end, axis}));
    const std::vector<StateValue> found = FoundIn(b);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].window, last < 0 ? -last : 0);
  }
}

// As a decoder with past_present_share_buffer declares its caches.
TEST(CarriedValuesTest, ACacheThatKeepsItsExtentIsWritten) {
  GraphBuilder b;
  Value* cache = b.Input("a", DataType::kFloat, {"batch", 2, 16, 8});
  Value* step = b.Input("b", DataType::kFloat, {"batch", 2, "step", 8});
  Value* used = b.Input("used", DataType::kInt64, {"batch"});
  Value* total = b.Input("total", DataType::kInt64, {});
  Value* longer = b.Op("attnrun::AppendToCache", {cache, step, used, total});
  b.Output(longer);
  longer->set_type(cache->type());
  EXPECT_THAT(FoundIn(b), ElementsAre(Carries("a", StateKind::kWritten, 2)));
}

// As Optimum's merged decoders do: one branch computes the keys, the other gives an empty constant.
TEST(CarriedValuesTest, KeysOfAnEncoderAreKept) {
  GraphBuilder b;
  Value* cache = b.Input("past.0.encoder.key", DataType::kFloat, {"batch", 2, "encoder", 8});
  Value* states = b.Input("states", DataType::kFloat, {"batch", 2, "encoder", 8});
  Value* use_cache = b.Input("use_cache", DataType::kBool, {1});
  b.Output(b.Op("Relu", {cache}));
  auto computes = std::make_shared<Graph>();
  GraphBuilder compute(*computes, 20);
  compute.Output(compute.Op("Exp", {compute.Capture(states)}));
  auto skips = std::make_shared<Graph>();
  GraphBuilder skip(*skips, 20);
  skip.Output(skip.Constant("nothing", *Tensor::Allocate(DataType::kFloat, {0, 2, 1, 8})));
  Value* keys = b.Op("If", {use_cache}, {{"then_branch", skips}, {"else_branch", computes}});
  b.Output(keys);
  absl::StatusOr<std::unique_ptr<Graph>> graph = b.Build();
  ASSERT_TRUE(graph.ok()) << graph.status();
  (*graph)->Rename(keys, "present.0.encoder.key");
  EXPECT_THAT(FoundIn(**graph), ElementsAre(Carries("past.0.encoder.key", StateKind::kKept, -1)));
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
  EXPECT_THAT(FoundIn(**graph), IsEmpty());
  (*graph)->Rename(sum, "present_state");
  EXPECT_THAT(FoundIn(**graph), ElementsAre(Carries("past_state", StateKind::kReplaced, -1)));
}

}  // namespace
}  // namespace testing
}  // namespace attnrun
