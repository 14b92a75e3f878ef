// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/elements.h"
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

// A sequence of vectors.
Tensor Vectors(const std::vector<Ints>& vectors) {
  std::vector<Tensor> tensors;
  for (const Ints& elements : vectors) tensors.push_back(I(elements));
  return Tensor::Sequence(DataType::kInt64, tensors).value();
}

std::string Text(const Tensor& value) {
  if (!value.defined()) return "none";
  std::string text = value.is_sequence() ? "" : TypeAndShape(value) + ":";
  if (!value.is_sequence()) {
    const Ints elements = ToInts(value).value();
    for (const int64_t element : elements) text += " " + std::to_string(element);
    return text;
  }
  for (const Tensor& tensor : value.tensors()) text += "(" + Text(tensor) + ")";
  return "<" + text + ">";
}

struct Case {
  const char* op_type;
  std::vector<Tensor> inputs;
  AttributeMap attributes;
  // The output, or a part of the error.
  std::string expected;
};

OpTester TesterOf(const Case& test) {
  OpTester tester(test.op_type);
  for (const Tensor& input : test.inputs) {
    if (input.defined()) {
      tester.Input(input);
    } else {
      tester.NoInput();
    }
  }
  for (const auto& [name, value] : test.attributes) tester.Attribute(name, value);
  return tester;
}

void Check(const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    for (const bool kernel : {false, true}) {
      SCOPED_TRACE(std::string(test.op_type) + (kernel ? ", kernel" : ", reference") +
                   ", expected " + test.expected);
      const auto outputs = kernel ? TesterOf(test).Kernel() : TesterOf(test).Reference();
      if (outputs.ok()) {
        EXPECT_EQ(Text((*outputs)[0]), test.expected);
      } else {
        EXPECT_THAT(std::string(outputs.status().message()), HasSubstr(test.expected));
      }
    }
  }
}

Tensor Sequence() { return Vectors({{1}, {2, 2}, {3}}); }

TEST(SequenceOpsTest, ChooseInsertAndErase) {
  const std::string all = "<(int64[1]: 1)(int64[2]: 2 2)(int64[1]: 3)>";
  Check({
      {"SequenceConstruct", {I({1}), I({2, 2}), I({3})}, {}, all},
      {"SequenceConstruct", {I({1}), F({2})}, {}, "cannot hold float[2]"},
      {"SequenceEmpty", {}, {}, "<>"},
      {"SequenceAt", {Sequence(), I0(0)}, {}, "int64[1]: 1"},
      {"SequenceAt", {Sequence(), I0(-2)}, {}, "int64[2]: 2 2"},
      {"SequenceAt", {Sequence(), Int32({}, {2})}, {}, "int64[1]: 3"},
      {"SequenceAt",
       {Sequence(), I0(3)},
       {},
       "the position must be from -3 to 2 in sequence(int64)[3], but is 3"},
      {"SequenceAt", {Sequence(), I0(-4)}, {}, "but is -4"},
      {"SequenceAt", {Sequence(), I0(INT64_MIN)}, {}, "but is -9223372036854775808"},
      {"SequenceAt", {Sequence(), I({0, 1})}, {}, "the position"},
      {"SequenceInsert",
       {Sequence(), I({4})},
       {},
       "<(int64[1]: 1)(int64[2]: 2 2)(int64[1]: 3)(int64[1]: 4)>"},
      {"SequenceInsert",
       {Sequence(), I({4}), I0(3)},
       {},
       "<(int64[1]: 1)(int64[2]: 2 2)(int64[1]: 3)(int64[1]: 4)>"},
      {"SequenceInsert",
       {Sequence(), I({4}), I0(0)},
       {},
       "<(int64[1]: 4)(int64[1]: 1)(int64[2]: 2 2)(int64[1]: 3)>"},
      {"SequenceInsert",
       {Sequence(), I({4}), I0(-1)},
       {},
       "<(int64[1]: 1)(int64[2]: 2 2)(int64[1]: 4)(int64[1]: 3)>"},
      {"SequenceInsert", {Sequence(), I({4}), I0(4)}, {}, "from -3 to 3"},
      {"SequenceInsert", {Sequence(), F({4})}, {}, "cannot hold float[4]"},
      {"SequenceErase", {Sequence()}, {}, "<(int64[1]: 1)(int64[2]: 2 2)>"},
      {"SequenceErase", {Sequence(), I0(-3)}, {}, "<(int64[2]: 2 2)(int64[1]: 3)>"},
      {"SequenceErase", {Sequence(), I0(3)}, {}, "from -3 to 2"},
      {"SequenceErase", {Vectors({})}, {}, "the sequence is empty"},
      {"SequenceLength", {Sequence()}, {}, "int64[]: 3"},
      {"SequenceLength", {Vectors({})}, {}, "int64[]: 0"},
  });
}

TEST(SequenceOpsTest, AnEmptySequenceTakesItsTypeFromTheAttribute) {
  const auto outputs = OpTester("SequenceEmpty").Attribute("dtype", int64_t{10}).Reference();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(TypeAndShape((*outputs)[0]), "sequence(float16)[0]");
}

TEST(SequenceOpsTest, SplitToSequenceCutsPieces) {
  const Tensor rows = Make<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const AttributeMap axis1 = Int("axis", 1);
  const AttributeMap bare = {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}};
  Check({
      {"SplitToSequence", {rows}, {}, "<(int64[1,3]: 1 2 3)(int64[1,3]: 4 5 6)>"},
      {"SplitToSequence", {rows}, bare, "<(int64[2]: 1 4)(int64[2]: 2 5)(int64[2]: 3 6)>"},
      {"SplitToSequence", {rows, I0(2)}, axis1, "<(int64[2,2]: 1 2 4 5)(int64[2,1]: 3 6)>"},
      // The attribute counts only without the input.
      {"SplitToSequence", {rows, I0(3)}, bare, "<(int64[2,3]: 1 2 3 4 5 6)>"},
      {"SplitToSequence", {rows, I0(9)}, axis1, "<(int64[2,3]: 1 2 3 4 5 6)>"},
      {"SplitToSequence",
       {rows, I({1, 0, 2})},
       axis1,
       "<(int64[2,1]: 1 4)(int64[2,0]:)(int64[2,2]: 2 3 5 6)>"},
      {"SplitToSequence",
       {rows, Int32({}, {2})},
       axis1,
       "<(int64[2,2]: 1 2 4 5)(int64[2,1]: 3 6)>"},
      {"SplitToSequence", {I({})}, {}, "<>"},
      {"SplitToSequence", {I({}), I({})}, {}, "<>"},
      {"SplitToSequence", {rows, I({1, 1})}, axis1, "split [1,1] does not cut an axis of extent 3"},
      {"SplitToSequence", {rows, I({4, -1})}, axis1, "split [4,-1] does not cut"},
      {"SplitToSequence", {rows, I({INT64_MAX, INT64_MAX})}, axis1, "does not cut"},
      {"SplitToSequence", {rows, I0(0)}, axis1, "split must be at least 1, but is 0"},
      {"SplitToSequence", {rows, F({1})}, axis1, "split must be int64 or int32"},
      {"SplitToSequence", {rows}, Int("axis", 2), "axis"},
      {"SplitToSequence", {I0(1)}, {}, "axis"},
  });
}

TEST(SequenceOpsTest, ConcatFromSequenceJoins) {
  const Tensor equal = Vectors({{1, 2}, {3, 4}});
  const auto stack = [](int64_t axis) {
    return AttributeMap{{"axis", axis}, {"new_axis", int64_t{1}}};
  };
  Check({
      {"ConcatFromSequence", {Sequence()}, Int("axis", 0), "int64[4]: 1 2 2 3"},
      {"ConcatFromSequence", {equal}, stack(0), "int64[2,2]: 1 2 3 4"},
      {"ConcatFromSequence", {equal}, stack(1), "int64[2,2]: 1 3 2 4"},
      {"ConcatFromSequence", {equal}, stack(-1), "int64[2,2]: 1 3 2 4"},
      {"ConcatFromSequence", {equal}, stack(-2), "int64[2,2]: 1 2 3 4"},
      {"ConcatFromSequence", {equal}, stack(2), "axis"},
      {"ConcatFromSequence", {equal}, Int("axis", 1), "axis"},
      {"ConcatFromSequence", {Sequence()}, stack(0), "cannot be joined"},
      {"ConcatFromSequence", {Vectors({})}, Int("axis", 0), "but it is empty"},
  });
}

TEST(SequenceOpsTest, TensorsOfDifferentRanksAreNotStacked) {
  const Tensor mixed =
      Tensor::Sequence(DataType::kInt64, {Make<int64_t>({1, 1}, {1}), I({2})}).value();
  for (const int64_t axis : {0, 1, 2, -1}) {
    OpTester tester("ConcatFromSequence");
    tester.Input(mixed).Attribute("axis", axis).Attribute("new_axis", int64_t{1});
    EXPECT_THAT(std::string(tester.Reference().status().message()), HasSubstr("cannot be joined"));
    EXPECT_THAT(std::string(tester.Kernel().status().message()), HasSubstr("cannot be joined"));
  }
}

TEST(SequenceOpsTest, StringsAndPackedTypesAreMovedToo) {
  const Tensor words = Make<std::string>({2}, {"a", "b"});
  auto pieces = OpTester("SplitToSequence").Input(words).Reference();
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  auto joined = OpTester("ConcatFromSequence").Input((*pieces)[0]).Attribute("axis", int64_t{0});
  EXPECT_EQ(ToStrings(joined.Reference().value()[0]).value(), std::vector<std::string>({"a", "b"}));
  const Tensor packed = FromInts(DataType::kInt4, {3}, {1, -2, 3}).value();
  pieces = OpTester("SplitToSequence").Input(packed).Reference();
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  EXPECT_EQ(Text((*pieces)[0]), "<(int4[1]: 1)(int4[1]: -2)(int4[1]: 3)>");
}

TEST(SequenceOpsTest, OptionalsPassTheirElementOn) {
  Check({
      {"Optional", {I({1})}, {}, "int64[1]: 1"},
      {"Optional", {Vectors({{1}})}, {}, "<(int64[1]: 1)>"},
      {"OptionalGetElement", {I({1})}, {}, "int64[1]: 1"},
      {"OptionalHasElement", {I({1})}, {}, "bool[]: 1"},
      {"OptionalHasElement", {None()}, {}, "bool[]: 0"},
      {"OptionalHasElement", {}, {}, "bool[]: 0"},
  });
}

TEST(SequenceOpsTest, OptionalHasElementNeedsAnInputBeforeVersion18) {
  EXPECT_THAT(std::string(OpTester("OptionalHasElement", 15).Reference().status().message()),
              HasSubstr("inputs"));
}

}  // namespace
}  // namespace attnrun::testing
