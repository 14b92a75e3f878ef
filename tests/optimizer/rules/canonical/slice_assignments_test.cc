// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Builds y [batch, seq, 12] from slices [batch, seq, n].
struct Assigned {
  GraphBuilder& b;
  Value* a = b.Input("a", DataType::kFloat, {"batch", "seq", 8});
  Value* c = b.Input("c", DataType::kFloat, {"batch", "seq", 4});

  Value* Ints(const std::vector<int64_t>& numbers, const std::vector<int64_t>& shape) {
    return b.Constant("n", Make<int64_t>(shape, numbers));
  }
  Value* Extent(int64_t axis) { return b.Op("Shape", {a}, {{"start", axis}, {"end", axis + 1}}); }
  Value* Joined(std::vector<Value*> parts, int64_t axis) {
    return b.Op("Concat", std::move(parts), {{"axis", axis}});
  }
  Value* Zeros() {
    return b.Op("ConstantOfShape", {Joined({Extent(0), Extent(1), Ints({12}, {1})}, 0)});
  }
  Value* Count(int64_t axis, const std::vector<int64_t>& shape) {
    Value* extent = b.Op("Squeeze", {Extent(axis), Ints({0}, {1})});
    Value* range = b.Op("Range", {Ints({0}, {}), extent, Ints({1}, {})});
    const auto rank = static_cast<int64_t>(shape.size());
    return b.Op("Reshape", {range, Ints(shape, {rank})});
  }
  static std::vector<int64_t> From(int64_t start, int64_t count) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(start + i);
    return numbers;
  }
  // y[:, :, start : start + count] = slice, with the full index of every element, as TorchScript
  // writes it.
  Value* ByTuples(Value* y, int64_t start, int64_t count, Value* slice, AttributeMap attributes) {
    Value* like = Joined({Extent(0), Extent(1), Ints({count}, {1})}, 0);
    std::vector<Value*> tuple = {Count(0, {-1, 1, 1}), Count(1, {-1, 1}),
                                 Ints(From(start, count), {count})};
    for (Value*& index : tuple) {
      index = b.Op("Unsqueeze", {b.Op("Expand", {index, like}), Ints({-1}, {1})});
    }
    return b.Op("ScatterND", {y, Joined(tuple, -1), slice}, std::move(attributes));
  }
  // The same on y [12, seq, batch], by its first axis, as dynamo's exporter writes it.
  Value* ByRows(Value* y, int64_t start, int64_t count, Value* slice) {
    Value* turned = b.Op("Transpose", {slice}, {{"perm", std::vector<int64_t>{2, 1, 0}}});
    return b.Op("ScatterND", {y, Ints(From(start, count), {count, 1}), turned});
  }
};

OptimizerTester InTuples(int64_t second, const AttributeMap& attributes = {}) {
  return OptimizerTester([=](GraphBuilder& b) {
    Assigned assigned{b};
    Value* y = assigned.ByTuples(assigned.Zeros(), 0, 8, assigned.a, attributes);
    b.Output(b.Op("Relu", {assigned.ByTuples(y, second, 4, assigned.c, attributes)}));
  });
}

TEST(SliceAssignmentsTest, SlicesThatFillATensorBecomeAConcat) {
  OptimizerTester test = InTuples(8);
  EXPECT_EQ(test.Ops(), "Concat Relu");
  for (const int64_t seq : {0, 1, 5}) test.Dim("seq", seq).ExpectSameResults(0);
}

TEST(SliceAssignmentsTest, SlicesMayBeInAnyOrderAndTransposed) {
  OptimizerTester test([](GraphBuilder& b) {
    Assigned assigned{b};
    const AttributeMap perm = {{"perm", std::vector<int64_t>{2, 1, 0}}};
    Value* y = b.Op("Transpose", {assigned.Zeros()}, perm);
    y = assigned.ByRows(assigned.ByRows(y, 4, 8, assigned.a), 0, 4, assigned.c);
    b.Output(b.Op("Relu", {b.Op("Transpose", {y}, perm)}));
  });
  EXPECT_EQ(test.Ops(), "Concat Relu");
  for (const int64_t seq : {0, 1, 5}) test.Dim("seq", seq).ExpectSameResults(0);
}

// A Transpose without `perm` reverses the axes.
TEST(SliceAssignmentsTest, SlicesMayBeTransposedAlikeOrDifferently) {
  for (const bool alike : {true, false}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Assigned assigned{b};
      const auto rows = [&](Value* y, int64_t start, Value* updates) {
        return b.Op("ScatterND", {y, assigned.Ints(Assigned::From(start, 4), {4, 1}), updates});
      };
      // [4, batch, batch] in both permutations.
      Value* first = b.Input("first", DataType::kFloat, {"batch", "batch", 4});
      Value* second = b.Input("second", DataType::kFloat, {"batch", "batch", 4});
      const AttributeMap other = {{"perm", std::vector<int64_t>{2, 0, 1}}};
      Value* extent = assigned.Extent(0);
      Value* y =
          b.Op("ConstantOfShape", {assigned.Joined({assigned.Ints({8}, {1}), extent, extent}, 0)});
      y = rows(y, 0, b.Op("Transpose", {first}));
      y = rows(y, 4, b.Op("Transpose", {second}, alike ? AttributeMap() : other));
      b.Output(b.Op("Relu", {y}));
    });
    EXPECT_EQ(test.Count("Concat"), 1);
    EXPECT_EQ(test.Count("Transpose"), alike ? 1 : 2);
    test.ExpectSameResults(0);
  }
}

TEST(SliceAssignmentsTest, ASliceMayBeAllOfTheTensor) {
  const auto assigned = [](int64_t extent) {
    return OptimizerTester([=](GraphBuilder& b) {
      Assigned assigned{b};
      Value* y = b.Input("y", DataType::kFloat, {"batch", "seq", extent});
      b.Output(b.Op("Relu", {assigned.ByTuples(y, 0, 8, assigned.a, {})}));
    });
  };
  OptimizerTester test = assigned(8);
  EXPECT_EQ(test.Ops(), "Relu");
  for (const int64_t seq : {0, 1, 5}) test.Dim("seq", seq).ExpectSameResults(0);
  EXPECT_EQ(assigned(9).Count("ScatterND"), 1);
}

TEST(SliceAssignmentsTest, LeavesGapsOverlapsAndSums) {
  for (const int64_t second : {2, 7}) {
    OptimizerTester test = InTuples(second);
    EXPECT_EQ(test.Count("ScatterND"), 2) << second;
    test.ExpectSameResults(0);
  }
  EXPECT_EQ(InTuples(8, {{"reduction", std::string("add")}}).Count("ScatterND"), 2);
}

}  // namespace
}  // namespace attnrun::testing
