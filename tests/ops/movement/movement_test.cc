// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/any_type.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
using IntList = std::vector<int64_t>;

TEST(TransposeTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const struct {
    IntList shape, perm;
  } kCases[] = {
      {{3, 5, 2, 8}, {0, 2, 1, 3}},
      {{2, 3, 37, 19}, {0, 1, 3, 2}},
      {{2, 33, 3, 16}, {0, 2, 3, 1}},
      {{1, 7, 1, 4}, {0, 2, 1, 3}},
      {{64, 65}, {1, 0}},
      {{5}, {0}},
      {{}, {}},
      {{2, 0, 3}, {2, 1, 0}},
      {{4, 3, 2, 5}, {3, 2, 1, 0}},
      {{300, 400}, {1, 0}},
      {{2, 3, 37, 19}, {0, 2, 3, 1}},
      {{2, 40, 70}, {2, 1, 0}},
      {{2, 2051}, {1, 0}},
      {{3, 2051}, {1, 0}},
      {{3, 4}, {1, 0}},
      {{2, 3, 5, 9}, {2, 0, 3, 1}},
      {{2, 128, 12, 32}, {0, 2, 1, 3}},
      {{3, 4, 5, 2, 3}, {4, 0, 3, 1, 2}},
  };
  for (const auto& test : kCases) {
    for (const DataType type : TypesOfEachWidth()) {
      OpTester op("Transpose", 24);
      op.Attribute("perm", test.perm).Input(RandomBits(type, test.shape, generator));
      ExpectKernelSame(op);
    }
  }
}

TEST(TransposeTest, FollowsRandomPermutations) {
  std::mt19937 generator(Seed());
  for (int round = 0; round < 60; ++round) {
    IntList perm(generator() % 6);
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), generator);
    IntList shape(perm.size());
    for (int64_t& extent : shape) extent = generator() % 12;
    const DataType type = TypesOfEachWidth()[generator() % TypesOfEachWidth().size()];
    OpTester op("Transpose", 24);
    op.Attribute("perm", perm).Input(RandomBits(type, shape, generator));
    ExpectKernelSame(op);
  }
}

TEST(TransposeTest, ReversesWithoutPermAndRefusesInvalidPerms) {
  OpTester op("Transpose", 13);
  op.Input(Make<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  ExpectSame(op.Reference().value()[0], Make<float>({3, 2}, {1, 4, 2, 5, 3, 6}));
  ExpectKernelSame(op);
  for (const IntList& perm : {IntList{0}, IntList{0, 0}, IntList{0, 2}, IntList{0, kMin}}) {
    OpTester bad("Transpose", 13);
    bad.Attribute("perm", perm).Input(Make<float>({1, 2}, {1, 2}));
    ExpectError(bad, "perm " + ToString(absl::MakeSpan(perm)) +
                         " is not a permutation of the axes of float[1,2]");
  }
}

TEST(SliceTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const int64_t kBounds[] = {kMin, kMin + 1, -9, -3, -1, 0, 1, 2, 5, 8, 100, kMax};
  const int64_t kSteps[] = {1, 1, 1, 2, 3, -1, -2, kMax, kMin, -kMax};
  for (int round = 0; round < 300; ++round) {
    const DataType type = TypesOfEachWidth()[generator() % TypesOfEachWidth().size()];
    OpTester op("Slice", 13);
    op.Input(RandomBits(type, {3, 5, 8}, generator));
    IntList starts, ends, axes, steps;
    for (const int64_t axis : {2, 0}) {
      axes.push_back(generator() % 2 ? axis : axis - 3);
      starts.push_back(kBounds[generator() % 12]);
      ends.push_back(kBounds[generator() % 12]);
      steps.push_back(kSteps[generator() % 10]);
    }
    op.Input(Ints(starts)).Input(Ints(ends)).Input(Ints(axes)).Input(Ints(steps));
    ExpectKernelSame(op);
  }
}

TEST(SliceTest, AcceptsTheFormsOfEveryVersion) {
  const Tensor x = Make<int64_t>({5}, {0, 1, 2, 3, 4});
  OpTester old("Slice", 9);
  old.Attribute("starts", IntList{1}).Attribute("ends", IntList{kMax}).Input(x);
  ExpectSame(old.Reference().value()[0], Ints({1, 2, 3, 4}));
  ExpectKernelSame(old);
  OpTester back("Slice", 10);
  back.Input(x).Input(Ints({-1})).Input(Ints({kMin})).NoInput().Input(Ints({-2}));
  ExpectSame(back.Reference().value()[0], Ints({4, 2, 0}));
  ExpectKernelSame(back);
  OpTester outer("Slice", 13);
  outer.Input(x).Input(Ints({1})).Input(Ints({3}));
  EXPECT_EQ(outer.Kernel().value()[0].raw(), x.data<int64_t>() + 1);
}

TEST(SliceTest, RefusesInvalidOperands) {
  const auto slice = [](const IntList& starts, const IntList& ends, const IntList& axes,
                        const IntList& steps) {
    OpTester op("Slice", 13);
    op.Input(Make<float>({2, 2}, {1, 2, 3, 4})).Input(Ints(starts));
    op.Input(Ints(ends)).Input(Ints(axes)).Input(Ints(steps));
    return op;
  };
  ExpectError(slice({0}, {1}, {0}, {0}), "the step along axis 0 is 0");
  ExpectError(slice({0}, {1}, {2}, {1}), "axis 2 is outside [-2,1] for rank 2");
  ExpectError(slice({0, 0}, {1, 1}, {0, -2}, {1, 1}), "axis 0 is named twice");
  ExpectError(slice({0, 0}, {1}, {0}, {1}),
              "starts [0,0], ends [1], axes [0] and steps [1] must be of one length");
}

TEST(ConcatTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    for (int64_t axis = -3; axis < 3; ++axis) {
      OpTester op("Concat", 13);
      op.Attribute("axis", axis);
      for (const int64_t extent : {2, 0, 1, 5}) {
        IntList shape = {3, 4, 2};
        shape[axis < 0 ? axis + 3 : axis] = extent;
        op.Input(RandomBits(type, shape, generator));
      }
      ExpectKernelSame(op);
    }
  }
  OpTester large("Concat", 13);
  large.Attribute("axis", int64_t{1});
  large.Input(RandomFloats({7, 300, 64}, generator)).Input(RandomFloats({7, 1, 64}, generator));
  ExpectKernelSame(large);
}

TEST(ConcatTest, RefusesMismatchedInputs) {
  OpTester types("Concat", 13);
  types.Attribute("axis", int64_t{0}).Input(Ints({1})).Input(Make<float>({1}, {1}));
  ExpectError(types, "input 1 is float[1], which cannot be joined with int64[1] along axis 0");
  OpTester ranks("Concat", 13);
  ranks.Attribute("axis", int64_t{0}).Input(Ints({1})).Input(ScalarInt(1));
  ExpectError(ranks, "input 1 is int64[], which cannot be joined with int64[1] along axis 0");
  OpTester none("Concat", 13);
  none.Input(Ints({1}));
  ExpectError(none, "attribute 'axis' is required (found none)");
  // Found by the fuzzer of rules: lists of tensors have no gaps.
  const Tensor part = Make<float>({1}, {1});
  for (const char* name : {"Concat", "Sum", "Max"}) {
    OpTester gap(name, 13);
    if (name[0] == 'C') gap.Attribute("axis", int64_t{0});
    ExpectError(gap.Input(part).NoInput().Input(part), "required input 1 is left out");
  }
}

TEST(SplitTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    for (int64_t axis = 0; axis < 3; ++axis) {
      OpTester op("Split", 18);
      op.Attribute("axis", axis - 3).Outputs(3).Input(RandomBits(type, {6, 6, 6}, generator));
      op.Input(Ints({1, 0, 5}));
      ExpectKernelSame(op);
    }
  }
}

TEST(SplitTest, AcceptsTheFormsOfEveryVersion) {
  const Tensor x = Ints({0, 1, 2, 3, 4, 5, 6});
  OpTester attribute("Split", 11);
  attribute.Attribute("split", IntList{3, 4}).Input(x).Outputs(2);
  ExpectSame(attribute.Kernel().value()[1], Ints({3, 4, 5, 6}));
  OpTester uneven("Split", 18);
  uneven.Attribute("num_outputs", int64_t{3}).Input(x).Outputs(3);
  ExpectSame(uneven.Kernel().value()[2], Ints({6}));
  ExpectKernelSame(uneven);
  OpTester equal("Split", 13);
  equal.Input(x).Outputs(3);
  ExpectError(equal, "axis 0 of int64[7] cannot be cut into 3 equal pieces");
  OpTester wrong("Split", 13);
  wrong.Input(x).Input(Ints({kMax, 8})).Outputs(2);
  ExpectError(wrong, "split [9223372036854775807,8] does not cut axis 0 of int64[7] into 2 pieces");
  OpTester both("Split", 18);
  both.Attribute("num_outputs", int64_t{3}).Input(x).Outputs(2);
  ExpectError(both, "num_outputs is 3, but there are 2 outputs and no input 'split'");
}

TEST(ExpandTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const struct {
    IntList from, shape;
  } kCases[] = {
      {{3, 1}, {3, 4}}, {{1}, {2, 3}},          {{2, 1, 4}, {1, 5, 1}},          {{}, {7}},
      {{4}, {}},        {{1, 3, 1}, {0, 3, 2}}, {{2, 1, 1, 64}, {2, 8, 130, 64}}};
  for (const auto& test : kCases) {
    for (const DataType type : TypesOfEachWidth()) {
      OpTester op("Expand", 13);
      op.Input(RandomBits(type, test.from, generator)).Input(Ints(test.shape));
      ExpectKernelSame(op);
    }
  }
}

TEST(TileTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const IntList& repeats : {IntList{2, 3}, IntList{1, 1}, IntList{0, 4}, IntList{1, 5}}) {
    for (const DataType type : TypesOfEachWidth()) {
      OpTester op("Tile", 13);
      op.Input(RandomBits(type, {3, 5}, generator)).Input(Ints(repeats));
      ExpectKernelSame(op);
    }
  }
}

TEST(ExpandTest, RefusesAbsurdShapes) {
  OpTester negative("Expand", 13);
  negative.Input(Ints({1})).Input(Ints({-1}));
  ExpectError(negative, "shape [-1] has a negative extent");
  OpTester other("Expand", 13);
  other.Input(Ints({1, 2})).Input(Ints({3}));
  ExpectError(other, "shapes [2] and [3] do not broadcast");
  for (const IntList& shape : {IntList{kMax, kMax}, IntList{kMax}, IntList{int64_t{1} << 40}}) {
    OpTester huge("Expand", 13);
    huge.Input(Ints({1})).Input(Ints(shape));
    EXPECT_FALSE(huge.Reference().ok());
    EXPECT_FALSE(huge.Kernel().ok());
    OpTester tile("Tile", 13);
    const std::vector<int64_t> ones(shape.size(), 1);
    tile.Input(Make<float>(ones, {1})).Input(Ints(shape));
    EXPECT_FALSE(tile.Reference().ok());
    EXPECT_FALSE(tile.Kernel().ok());
  }
  OpTester overflow("Tile", 13);
  overflow.Input(Ints({1, 2})).Input(Ints({kMax}));
  ExpectError(overflow, "cannot repeat axis 0 of int64[2] 9223372036854775807 times");
  OpTester empty("Tile", 13);
  empty.Input(Make<float>({0, 1, 0}, {})).Input(Ints({kMax, 2, kMax}));
  ExpectKernelSame(empty);
}

TEST(TriluTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    for (const int64_t k : {kMin, int64_t{-2}, int64_t{0}, int64_t{1}, int64_t{7}, kMax}) {
      for (const int64_t upper : {0, 1}) {
        OpTester op("Trilu", 14);
        op.Attribute("upper", upper).Input(RandomBits(type, {2, 4, 6}, generator));
        ExpectKernelSame(op.Input(ScalarInt(k)));
      }
    }
  }
  OpTester vector("Trilu", 14);
  vector.Input(Ints({1}));
  ExpectError(vector, "the input must have rank 2 or more, but is int64[1]");
}

TEST(PadTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    for (const IntList& pads : {IntList{1, 0, 0, 2}, IntList{0, -1, 3, -2}, IntList{0, 0, 0, 0},
                                IntList{-3, 0, 1, 0}, IntList{-2, 0, -1, 0}}) {
      OpTester op("Pad", 24);
      op.Input(RandomBits(type, {3, 2, 4}, generator)).Input(Ints(pads));
      op.Input(RandomBits(type, {}, generator)).Input(Ints({-1, 0}));
      ExpectKernelSame(op);
    }
  }
}

TEST(PadTest, KernelRepeatsElementsAsTheReferenceDoes) {
  std::mt19937 generator(Seed());
  for (int round = 0; round < 300; ++round) {
    const std::vector<DataType>& types = TypesOfEachWidth();
    const DataType type = types[generator() % types.size()];
    // Kernels accept elements of at most one machine word.
    if (type == DataType::kComplex128) continue;
    IntList shape(generator() % 4 + 1);
    IntList pads(2 * shape.size(), 0);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      shape[axis] = generator() % 6 + 1;
      if (generator() % 3 == 0) continue;
      // Some pads are longer than the data, some remove elements.
      pads[axis] = static_cast<int64_t>(generator() % 18) - 2;
      pads[axis] = std::max(pads[axis], -shape[axis] / 2);
      pads[shape.size() + axis] = static_cast<int64_t>(generator() % 12);
    }
    OpTester op("Pad", 19);
    op.Attribute("mode", std::vector<std::string>{"edge", "reflect", "wrap"}[generator() % 3]);
    ExpectKernelSame(op.Input(RandomBits(type, shape, generator)).Input(Ints(pads)));
  }
}

TEST(PadTest, AcceptsTheModesOfEveryVersion) {
  const Tensor x = Make<float>({3}, {1, 2, 3});
  const std::pair<std::string, std::vector<float>> kCases[] = {
      {"constant", {0, 0, 0, 0, 0, 1, 2, 3, 0}},
      {"edge", {1, 1, 1, 1, 1, 1, 2, 3, 3}},
      {"reflect", {2, 1, 2, 3, 2, 1, 2, 3, 2}},
      {"wrap", {2, 3, 1, 2, 3, 1, 2, 3, 1}},
  };
  for (const auto& [mode, expected] : kCases) {
    OpTester op("Pad", 19);
    op.Attribute("mode", mode).Input(x).Input(Ints({5, 1}));
    ExpectSame(op.Reference().value()[0], Make<float>({9}, expected));
    ExpectKernelSame(op);
  }
  OpTester attributes("Pad", 7);
  attributes.Attribute("pads", IntList{1, 0}).Attribute("value", 9.0F).Input(x);
  ExpectSame(attributes.Kernel().value()[0], Make<float>({4}, {9, 1, 2, 3}));
  ExpectError(
      OpTester("Pad", 13).Attribute("mode", std::string("wrap")).Input(x).Input(Ints({1, 1})),
      "attribute 'mode' must be one of constant, reflect, edge (found 'wrap')");
}

TEST(PadTest, RefusesInvalidOperands) {
  for (const IntList& pads : {IntList{kMax, 1}, IntList{kMin, kMax}, IntList{-2, -2}}) {
    OpTester op("Pad", 13);
    op.Input(Make<float>({3}, {1, 2, 3})).Input(Ints(pads));
    ExpectError(op, "cannot pad axis 0 of float[3] by " + std::to_string(pads[0]) + " and " +
                        std::to_string(pads[1]) + " in this mode");
  }
  OpTester count("Pad", 13);
  count.Input(Make<float>({3}, {1, 2, 3})).Input(Ints({1}));
  ExpectError(count, "pads [1] must have two numbers for each of 1 axes");
  OpTester type("Pad", 13);
  type.Input(Make<float>({1}, {1})).Input(Ints({1, 1})).Input(Ints({1}));
  ExpectError(type, "constant_value must be a scalar of float, but is int64[1]");
  OpTester huge("Pad", 13);
  huge.Input(Make<float>({1}, {1})).Input(Ints({int64_t{1} << 50, 0}));
  EXPECT_FALSE(huge.Reference().ok());
  EXPECT_FALSE(huge.Kernel().ok());
  OpTester nothing("Pad", 13);
  nothing.Attribute("mode", std::string("reflect")).Input(Make<float>({0}, {})).Input(Ints({1, 1}));
  ExpectError(nothing, "cannot pad axis 0 of float[0] by 1 and 1 in this mode");
}

TEST(DepthSpaceTest, KernelsAgreeWithReferenceAndInvertEachOther) {
  std::mt19937 generator(Seed());
  for (const std::string mode : {"DCR", "CRD"}) {
    for (const DataType type : TypesOfEachWidth()) {
      OpTester to_space("DepthToSpace", 28);
      const Tensor x = RandomBits(type, {2, 12, 3, 5}, generator);
      to_space.Attribute("mode", mode).Attribute("blocksize", int64_t{2}).Input(x);
      ExpectKernelSame(to_space);
      OpTester to_depth("SpaceToDepth", 28);
      to_depth.Attribute("mode", mode).Attribute("blocksize", int64_t{2});
      to_depth.Input(to_space.Reference().value()[0]);
      ExpectKernelSame(to_depth);
      ExpectSame(to_depth.Reference().value()[0], x);
    }
  }
  for (const int64_t block : {kMin, int64_t{0}, int64_t{3}, kMax}) {
    for (const std::string name : {"DepthToSpace", "SpaceToDepth"}) {
      OpTester op(name, 13);
      op.Attribute("blocksize", block).Input(Make<float>({1, 1, 1, 1}, {1}));
      EXPECT_FALSE(op.Reference().ok());
      EXPECT_FALSE(op.Kernel().ok());
      OpTester empty(name, 13);
      empty.Attribute("blocksize", block).Input(Make<float>({1, 0, 0, 3}, {}));
      EXPECT_EQ(empty.Kernel().status().code(), empty.Reference().status().code());
    }
  }
}

TEST(ReverseSequenceTest, FollowsTheText) {
  const Tensor x = Make<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  OpTester batch_first("ReverseSequence", 10);
  batch_first.Attribute("batch_axis", int64_t{0}).Attribute("time_axis", int64_t{1});
  batch_first.Input(x).Input(Ints({3, 2}));
  ExpectSame(batch_first.Reference().value()[0], Make<int64_t>({2, 3}, {3, 2, 1, 5, 4, 6}));
  OpTester time_first("ReverseSequence", 10);
  time_first.Input(x).Input(Ints({2, 1, 0}));
  ExpectSame(time_first.Reference().value()[0], Make<int64_t>({2, 3}, {4, 2, 3, 1, 5, 6}));
  OpTester outside("ReverseSequence", 10);
  outside.Input(x).Input(Ints({2, 1, 3}));
  ExpectError(outside, "sequence_lens[2] is 3, outside [0,2]");
}

}  // namespace
}  // namespace attnrun::testing
