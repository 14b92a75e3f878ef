// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

// Converts PyTorch's pads (last axis first, before and after each axis) to ONNX's order.
Value* TurnedPads(GraphBuilder& b, Value* pads) {
  Value* rows = b.Op("Reshape", {pads, Vector(b, {-1, 2})});
  rows =
      b.Op("Slice", {rows, Vector(b, {-1}), Vector(b, {kLowest}), Vector(b, {0}), Vector(b, {-1})});
  return b.Op("Reshape", {b.Op("Transpose", {rows}), Vector(b, {-1})});
}

// x [batch, seq, 4], padded with rows of zeros to whole blocks of three.
Value* Padded(GraphBuilder& b, Value* x) {
  Value* seq = b.Op("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  Value* missing = b.Op("Mod", {b.Op("Neg", {seq}), Vector(b, {3})});
  Value* pads =
      b.Op("Concat", {Vector(b, {0, 0, 0}), missing, Vector(b, {0, 0})}, {{"axis", int64_t{0}}});
  return b.Op("Pad", {x, TurnedPads(b, pads)});
}

Value* Rows(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", "seq", 4}); }

TEST(ShuffledListsTest, PadsBecomeOneGather) {
  OptimizerTester test([](GraphBuilder& b) { b.Output(b.Op("Relu", {Padded(b, Rows(b))})); });
  EXPECT_EQ(test.Count("Reshape") + test.Count("Transpose") + test.Count("Slice"), 0);
  EXPECT_EQ(test.Count("Gather"), 1);
  for (const int64_t seq : {0, 1, 2, 3, 7}) test.Dim("seq", seq).ExpectSameResults(0);
}

// Rows are padded, split into blocks, merged again and cut to the original length. The length
// equals that of x, so the sum with x needs no broadcasting.
TEST(ShuffledListsTest, BlocksOfPaddedRowsKeepTheirLength) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Rows(b);
    Value* padded = Padded(b, x);
    const auto extent = [&](Value* of, int64_t axis) {
      return b.Op("Shape", {of}, {{"start", axis}, {"end", axis + 1}});
    };
    const auto joined = [&](std::vector<Value*> parts) {
      return b.Op("Concat", std::move(parts), {{"axis", int64_t{0}}});
    };
    Value* count = b.Op("Div", {extent(padded, 1), Vector(b, {3})});
    Value* blocks =
        b.Op("Reshape", {padded, joined({extent(x, 0), count, Vector(b, {3}), Vector(b, {4})})});
    Value* rows = b.Op("Reshape", {b.Op("Softmax", {blocks}, {{"axis", int64_t{2}}}),
                                   joined({extent(x, 0), Vector(b, {-1}), Vector(b, {4})})});
    rows = b.Op("Slice", {rows, Vector(b, {0}), extent(x, 1), Vector(b, {1})});
    Value* sum = b.Op("Add", {x, rows});
    Value* length = b.Op("Squeeze", {extent(sum, 1), Vector(b, {0})});
    Value* zero = b.Constant<int64_t>("zero", {}, {0});
    Value* always = b.Op("Less", {b.Op("Range", {zero, length, b.Constant<int64_t>("1", {}, {1})}),
                                  b.Op("Squeeze", {extent(x, 1), Vector(b, {0})})});
    b.Output(sum);
    b.Output(b.Op("Not", {b.Op("And", {always, b.Input("mask", DataType::kBool, {"seq"})})}));
  });
  EXPECT_EQ(test.Count("Less") + test.Count("Range"), 0);
  for (const int64_t seq : {1, 2, 3, 7}) test.Dim("seq", seq).ExpectSameResults(8 * kEpsilon);
}

TEST(ShuffledListsTest, LongListsStay) {
  OptimizerTester test([](GraphBuilder& b) {
    b.Output(b.Op("Neg", {TurnedPads(b, b.Input("x", DataType::kInt64, {80}))}));
  });
  EXPECT_EQ(test.Count("Gather"), 0);
  test.ExpectSameResults(0);
}

}  // namespace
}  // namespace attnrun::testing
