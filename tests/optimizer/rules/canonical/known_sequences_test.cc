// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

Value* X(GraphBuilder& b) { return b.Input("x", DataType::kFloat, {"batch", 12}); }

Value* Split(GraphBuilder& b, Value* x, Value* sizes, int64_t axis = 1) {
  return b.Op("SplitToSequence", {x, sizes}, {{"axis", axis}});
}
Value* At(GraphBuilder& b, Value* sequence, int64_t position) {
  return b.Op("SequenceAt", {sequence, Scalar(b, position)});
}
Value* Join(GraphBuilder& b, Value* sequence, int64_t axis, int64_t new_axis = 0) {
  return b.Op("ConcatFromSequence", {sequence}, {{"axis", axis}, {"new_axis", new_axis}});
}
// Different functions of the tensors, so that none of them can be left out.
void Read(GraphBuilder& b, Value* sequence, int64_t count) {
  static const std::vector<std::string> ops = {"Exp", "Tanh", "Sigmoid", "Neg"};
  for (int64_t i = 0; i < count; ++i) b.Output(b.Op(ops[i], {At(b, sequence, i)}));
}

void Expect(const std::string& ops, const OptimizerTester& test) {
  EXPECT_EQ(test.Ops(), ops);
  test.ExpectSameResults(4 * kEpsilon);
}

TEST(KnownSequencesTest, PiecesComeFromASplit) {
  Expect("Exp Sigmoid Split Tanh",
         OptimizerTester([](GraphBuilder& b) { Read(b, Split(b, X(b), Scalar(b, 4)), 3); }));
  Expect("Exp Sigmoid Split Tanh",
         OptimizerTester([](GraphBuilder& b) { Read(b, Split(b, X(b), Scalar(b, 5), -1), 3); }));
  Expect("Exp Split Tanh",
         OptimizerTester([](GraphBuilder& b) { Read(b, Split(b, X(b), Vector(b, {3, 9})), 2); }));
}

TEST(KnownSequencesTest, SizesMayBeComputedInTheRun) {
  // torch.chunk(x, 3) of an axis of 3 * batch.
  OptimizerTester chunks([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 2});
    Value* tripled = b.Op("Concat", {x, x, x}, {{"axis", int64_t{0}}});
    Value* size = b.Op("Gather", {b.Op("Shape", {x}), Scalar(b, 0)});
    Read(b, Split(b, b.Op("Softplus", {tripled}), size, 0), 3);
  });
  EXPECT_EQ(chunks.Count("SplitToSequence"), 0);
  EXPECT_EQ(chunks.Count("Split"), 1);
  chunks.ExpectSameResults(4 * kEpsilon);
  OptimizerTester listed(
      [](GraphBuilder& b) { Read(b, Split(b, X(b), b.Input("sizes", DataType::kInt64, {2})), 2); });
  listed.Feed("sizes", Make<int64_t>({2}, {5, 7}));
  Expect("Exp Split Tanh", listed);
}

TEST(KnownSequencesTest, UnbindDropsTheAxis) {
  Expect("Exp Sigmoid Split Squeeze*3 Tanh", OptimizerTester([](GraphBuilder& b) {
           Value* x = b.Input("x", DataType::kFloat, {"batch", 3, 4});
           Value* parts =
               b.Op("SplitToSequence", {x}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
           Read(b, parts, 3);
         }));
}

TEST(KnownSequencesTest, ListsAreJoined) {
  const auto make = [](int64_t axis, int64_t new_axis) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = X(b);
      Value* list = b.Op("SequenceInsert", {b.Op("SequenceEmpty", {}), b.Op("Exp", {x})});
      list = b.Op("SequenceInsert", {list, b.Op("Tanh", {x})});
      list = b.Op("SequenceInsert", {list, b.Op("Neg", {x}), Scalar(b, -2)});
      list = b.Op("SequenceErase", {list, Scalar(b, 1)});
      b.Output(Join(b, list, axis, new_axis));
    });
  };
  EXPECT_EQ(make(0, 0).Ops(), "Concat Neg Tanh");
  make(-1, 0).ExpectSameResults(4 * kEpsilon);
  EXPECT_EQ(make(2, 1).Count("Concat"), 1);
  for (const int64_t axis : {0, 1, 2, -1, -2, -3}) make(axis, 1).ExpectSameResults(4 * kEpsilon);
}

TEST(KnownSequencesTest, TheLengthIsANumber) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* parts = Split(b, X(b), Scalar(b, 5));
    Value* last = b.Op("Sub", {b.Op("SequenceLength", {parts}), Scalar(b, 1)});
    b.Output(b.Op("Exp", {b.Op("SequenceAt", {parts, last})}));
  });
  Expect("Exp Slice", test);
}

TEST(KnownSequencesTest, OptionalsWithAnElementDisappear) {
  Expect("Exp", OptimizerTester([](GraphBuilder& b) {
           Value* optional = b.Op("Optional", {b.Op("Exp", {X(b)})});
           b.Output(b.Op("Identity", {b.Op("OptionalGetElement", {optional})}));
         }));
  OptimizerTester asked([](GraphBuilder& b) {
    Value* has = b.Op("OptionalHasElement", {b.Op("Optional", {X(b)})});
    b.Output(b.Op("Not", {has}));
    b.Output(b.Op("Not", {b.Op("OptionalHasElement", {nullptr})}));
  });
  EXPECT_EQ(asked.Count("OptionalHasElement"), 0);
  asked.ExpectSameResults(0);
}

TEST(KnownSequencesTest, UnknownNumbersStay) {
  // The number of pieces depends on the batch.
  OptimizerTester rows([](GraphBuilder& b) { Read(b, Split(b, X(b), Scalar(b, 1), 0), 2); });
  Expect("Exp SequenceAt*2 SplitToSequence Tanh", rows);
  // The extent of the pieces is an input.
  OptimizerTester sizes(
      [](GraphBuilder& b) { Read(b, Split(b, X(b), b.Input("size", DataType::kInt64, {})), 2); });
  sizes.Feed("size", Make<int64_t>({}, {6}));
  Expect("Exp SequenceAt*2 SplitToSequence Tanh", sizes);
  // So is the position.
  OptimizerTester position([](GraphBuilder& b) {
    Value* parts = Split(b, X(b), Scalar(b, 4));
    b.Output(b.Op("SequenceAt", {parts, b.Input("position", DataType::kInt64, {})}));
  });
  position.Feed("position", Make<int64_t>({}, {2}));
  Expect("SequenceAt SequenceConstruct Split", position);
}

TEST(KnownSequencesTest, ErrorsStay) {
  EXPECT_EQ(OptimizerTester([](GraphBuilder& b) {
              b.Output(At(b, b.Op("SequenceConstruct", {X(b)}), 1));
            }).Count("SequenceAt"),
            1);
  EXPECT_EQ(OptimizerTester([](GraphBuilder& b) {
              b.Output(Join(b, b.Op("SequenceEmpty", {}), 0));
            }).Count("ConcatFromSequence"),
            1);
  EXPECT_EQ(OptimizerTester([](GraphBuilder& b) {
              b.Output(Join(b, Split(b, X(b), Scalar(b, 0)), 0));
            }).Count("SplitToSequence"),
            1);
}

TEST(KnownSequencesTest, NotOfHundredsOfTensors) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", 300});
    Read(b, Split(b, x, Scalar(b, 1)), 2);
  });
  EXPECT_EQ(test.Count("SplitToSequence"), 1);
}

}  // namespace
}  // namespace attnrun::testing
