// SPDX-License-Identifier: Apache-2.0
#include "input_fit/input_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "input_fit/mask_use.h"
#include "support/graph_builder.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const SymInt kSteps = SymInt::Symbol("steps");

TEST(InputNeedsTest, NodesTellWhatExtentsMustMeet) {
  GraphBuilder b;
  Value* past = b.Input("past", DataType::kFloat, {"batch", 2, "length", "size"});
  Value* key = b.Input("key", DataType::kFloat, {"batch", 2, "steps", 64});
  Value* x = b.Input("x", DataType::kFloat, {1, "steps", 8});
  Value* table = b.Input("table", DataType::kFloat, {1, 17, 8});
  b.Output(b.Op("Concat", {past, key}, {{"axis", int64_t{2}}}));
  b.Output(b.Op("Add", {x, table}));
  const fit::InputNeeds needs = fit::NeedsOf(*b.Build().value());
  EXPECT_THAT(needs.equal, ElementsAre(Pair(SymInt::Symbol("size"), SymInt(64))));
  EXPECT_THAT(needs.broadcast, ElementsAre(Pair(kSteps, SymInt(17))));
}

TEST(InputNeedsTest, TablesBoundTheIdsThatIndexThem) {
  GraphBuilder b;
  Value* ids = b.Input("ids", DataType::kInt32, {"batch", "steps"});
  Value* table = b.Input("table", DataType::kFloat, {4, 8});
  Value* small = b.Input("small", DataType::kFloat, {"steps", 8});
  Value* flat = b.Op("Reshape", {ids, b.Constant<int64_t>("flat", {1}, {-1})});
  Value* wide = b.Op("Cast", {flat}, {{"to", static_cast<int64_t>(DataType::kInt64)}});
  b.Output(b.Op("Gather", {table, wide})).Output(b.Op("Gather", {small, ids}));
  const fit::InputNeeds needs = fit::NeedsOf(*b.Build().value());
  EXPECT_THAT(needs.indexed, ElementsAre(Pair("ids", UnorderedElementsAre(SymInt(4), kSteps))));
}

// Tables of all categories of a model take each category behind those of the features before it.
TEST(InputNeedsTest, ConstantsThatAreAddedToIdsLowerTheirBound) {
  GraphBuilder b;
  Value* ids = b.Input("ids", DataType::kInt64, {"batch", 3});
  Value* moved = b.Op("Add", {b.Constant<int64_t>("first", {3}, {0, 7, 13}),
                              b.Op("Add", {ids, b.Constant<int64_t>("special", {}, {2})})});
  b.Output(b.Op("Gather", {b.Input("table", DataType::kFloat, {18, 8}), moved}));
  b.Output(b.Op("Gather", {b.Input("small", DataType::kFloat, {9, 8}), moved}));
  const fit::InputNeeds needs = fit::NeedsOf(*b.Build().value());
  // The small table has no row for the last feature.
  EXPECT_THAT(needs.indexed, ElementsAre(Pair("ids", UnorderedElementsAre(SymInt(3), SymInt(9)))));
}

// As torch.as_strided is exported for a batch of 2.
TEST(InputNeedsTest, ConstantIndicesLieInsideTheAxis) {
  GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat, {"steps", 8});
  Value* flat = b.Op("Reshape", {x, b.Constant<int64_t>("flat", {1}, {-1})});
  b.Output(b.Op("Gather", {flat, b.Constant<int64_t>("at", {3}, {-9, 0, 15})}));
  const fit::InputNeeds needs = fit::NeedsOf(*b.Build().value());
  EXPECT_THAT(needs.not_negative, UnorderedElementsAre(8 * kSteps - 16, 8 * kSteps - 9));
}

// LED adds places along an axis of any extent to constants.
TEST(InputNeedsTest, ConstantsAddedToPlacesLieInsideTheAxis) {
  GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat, {"steps", 8});
  Value* mask = b.Input("mask", DataType::kBool, {"steps"});
  Value* shift = b.Input("shift", DataType::kInt64, {1});
  Value* flat = b.Op("Reshape", {x, b.Constant<int64_t>("flat", {1}, {-1})});
  Value* places = b.Op("Mul", {b.Op("NonZero", {mask}), b.Constant<int64_t>("4", {}, {4})});
  Value* column = b.Op("Transpose", {places});
  Value* constant = b.Constant<int64_t>("at", {3}, {0, 5, 15});
  b.Output(b.Op("Gather", {flat, b.Op("Add", {column, constant})}));
  // The shift may be below 0.
  b.Output(b.Op("Gather", {flat, b.Op("Add", {shift, b.Constant<int64_t>("far", {}, {90})})}));
  const fit::InputNeeds needs = fit::NeedsOf(*b.Build().value());
  EXPECT_THAT(needs.not_negative, ElementsAre(8 * kSteps - 16));
}

// The labels of SAM's points, which are padded by a label of -1 that counts as 0.
TEST(InputNeedsTest, IdsMayBePaddedAndLimited) {
  GraphBuilder b;
  Value* ids = b.Input("ids", DataType::kInt64, {"batch", "steps"});
  Value* table = b.Input("table", DataType::kFloat, {4, 8});
  Value* padded = b.Op("Pad", {ids, b.Constant<int64_t>("pads", {4}, {0, 0, 0, 1}),
                               b.Constant<int64_t>("-1", {}, {-1})});
  Value* limited = b.Op("Max", {b.Op("Clip", {padded, b.Constant<int64_t>("least", {}, {0})}),
                                b.Constant<int64_t>("zero", {}, {0})});
  b.Output(b.Op("Gather", {table, limited}));
  const fit::InputNeeds needs = fit::NeedsOf(*b.Build().value());
  EXPECT_THAT(needs.indexed, ElementsAre(Pair("ids", ElementsAre(SymInt(4)))));
}

TEST(InputNeedsTest, AnAxisWithoutANameHasASymbolOfItsOwn) {
  GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat, {"", 8});
  Value* y = b.Input("y", DataType::kFloat, {"", 8});
  b.Output(b.Op("Add", {x, y}));
  const fit::InputNeeds needs = fit::NeedsOf(*b.Build().value());
  EXPECT_THAT(needs.broadcast, ElementsAre(Pair(SymInt::Symbol("x[0]"), SymInt::Symbol("y[0]"))));
}

// The mask, `inverted` or not, chooses between scores and a number far below 0.
bool Masks(bool inverted, bool masked_first) {
  GraphBuilder b;
  Value* mask = b.Input("mask", DataType::kBool, {"steps"});
  Value* scores = b.Input("scores", DataType::kFloat, {"steps"});
  Value* low = b.Constant<float>("low", {}, {-1e9F});
  Value* chosen = inverted ? b.Op("Not", {mask}) : b.Op("Identity", {mask});
  b.Output(b.Op("Where", masked_first ? std::vector<Value*>{chosen, low, scores}
                                      : std::vector<Value*>{chosen, scores, low}));
  const auto graph = b.Build().value();
  return fit::MasksWhereTrue(graph->inputs()[0]);
}

TEST(MaskUseTest, MasksOfBothSensesAreTold) {
  EXPECT_TRUE(Masks(false, true));
  EXPECT_FALSE(Masks(true, true));
  EXPECT_FALSE(Masks(false, false));
  EXPECT_TRUE(Masks(true, false));
}

TEST(MaskUseTest, ProductsWithANumberFarBelow0Mask) {
  const auto masks = [](bool complemented) {
    GraphBuilder b;
    Value* mask = b.Input("mask", DataType::kFloat, {"steps"});
    Value* one = b.Constant<float>("one", {}, {1});
    Value* factor = complemented ? b.Op("Sub", {one, mask}) : mask;
    b.Output(b.Op("Mul", {factor, b.Constant<float>("low", {}, {-10000})}));
    const auto graph = b.Build().value();
    return fit::MasksWhereTrue(graph->inputs()[0]);
  };
  EXPECT_TRUE(masks(false));
  EXPECT_FALSE(masks(true));
}

}  // namespace
}  // namespace attnrun::testing
