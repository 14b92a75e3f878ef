// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/elements.h"
#include "support/any_type.h"

namespace attnrun::testing {
namespace {

// Few distinct values, so that many are equal, and some NaN.
Tensor Ties(const std::vector<int64_t>& shape, std::mt19937& generator) {
  Tensor x = RandomInts(DataType::kFloat, shape, generator, -3, 3);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    if (generator() % 200 == 0) x.mutable_data<float>()[i] = NAN;
  }
  return x;
}

TEST(ArgTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const std::string name : {"ArgMax", "ArgMin"}) {
    for (int64_t axis = -3; axis < 3; ++axis) {
      for (const int64_t last : {0, 1}) {
        OpTester op(name, 13);
        op.Attribute("axis", axis).Attribute("keepdims", last);
        op.Attribute("select_last_index", last).Input(Ties({5, 7, 43}, generator));
        ExpectKernelSame(op);
        OpTester spread(name, 13);
        spread.Attribute("axis", axis).Input(RandomFloats({5, 7, 43}, generator));
        ExpectKernelSame(spread);
      }
    }
  }
}

TEST(ArgTest, TypesAndErrors) {
  OpTester ints("ArgMin", 13);
  ints.Input(Ints({5, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}));
  ExpectSame(ints.Reference().value()[0], Ints({1}));
  OpTester large("ArgMax", 13);
  large.Input(Make<uint64_t>({3}, {5, UINT64_MAX, 7}));
  ExpectSame(large.Reference().value()[0], Ints({1}));
  OpTester close("ArgMax", 13);
  close.Input(Ints({(int64_t{1} << 60) + 1, (int64_t{1} << 60) + 2}));
  ExpectSame(close.Reference().value()[0], Ints({1}));
  const float inf = std::numeric_limits<float>::infinity();
  OpTester infinite("ArgMin", 13);
  infinite.Input(Make<float>({3}, {inf, inf, inf}));
  ExpectSame(infinite.Kernel().value()[0], Ints({0}));
  ExpectKernelSame(infinite);
  OpTester empty("ArgMax", 13);
  ExpectError(empty.Input(Make<float>({0, 2}, {})),
              "axis 0 of float[0,2] has no elements to choose from");
}

TEST(TopKTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (int64_t axis = -3; axis < 3; ++axis) {
    for (const int64_t largest : {0, 1}) {
      for (const int64_t k : {0, 1, 3, 9}) {
        OpTester op("TopK", 11);
        op.Attribute("axis", axis).Attribute("largest", largest).Outputs(2);
        ExpectKernelSame(op.Input(Ties({9, 9, 9}, generator)).Input(Ints({k})));
        OpTester ints("TopK", 11);
        ints.Attribute("axis", axis).Attribute("largest", largest).Outputs(2);
        ints.Input(RandomInts(DataType::kInt64, {9, 9, 9}, generator, -5, 5));
        ExpectKernelSame(ints.Input(Ints({k})));
        for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
          const Tensor x = Ties({9, 9, 9}, generator);
          OpTester halves("TopK", 11);
          halves.Attribute("axis", axis).Attribute("largest", largest).Outputs(2);
          halves.Input(FromDoubles(type, x.shape(), *ToDoubles(x)).value());
          ExpectKernelSame(halves.Input(Ints({k})));
        }
      }
    }
  }
  OpTester vocabulary("TopK", 11);
  vocabulary.Outputs(2).Input(RandomFloats({2, 30000}, generator)).Input(Ints({50}));
  ExpectKernelSame(vocabulary);
}

TEST(TopKTest, HalvesKeepTheOrderOfNumbers) {
  const std::vector<double> numbers = {-0.0, 0, -INFINITY, 1e-7, -1e-7, NAN, -NAN, INFINITY, 0, -2};
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    for (const int64_t largest : {0, 1}) {
      OpTester op("TopK", 11);
      op.Attribute("largest", largest).Outputs(2);
      ExpectKernelSame(op.Input(FromDoubles(type, {10}, numbers).value()).Input(Ints({10})));
    }
  }
}

TEST(TopKTest, FormsAndErrors) {
  OpTester old("TopK", 9);
  old.Attribute("k", int64_t{2}).Outputs(2).Input(Make<float>({3}, {1, 3, 3}));
  ExpectSame(old.Kernel().value()[1], Ints({1, 2}));
  for (const int64_t k : {int64_t{-1}, int64_t{4}, std::numeric_limits<int64_t>::min()}) {
    OpTester op("TopK", 11);
    op.Outputs(2).Input(Make<float>({3}, {1, 2, 3})).Input(Ints({k}));
    ExpectError(
        op, "K is " + std::to_string(k) + ", outside [0,3], the elements along axis 0 of float[3]");
  }
}

TEST(NonZeroTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type :
       {DataType::kBool, DataType::kInt64, DataType::kInt32, DataType::kFloat}) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{4, 5, 6}, {7}, {}, {3, 0}, {1, 1}}) {
      OpTester op("NonZero", 13);
      ExpectKernelSame(op.Input(RandomInts(type, shape, generator, 0, 1)));
    }
  }
}

TEST(NonZeroTest, AcceptsOtherTypes) {
  OpTester half("NonZero", 13);
  half.Input(FromDoubles(DataType::kFloat16, {3}, {0, NAN, -0.0}).value());
  ExpectSame(half.Reference().value()[0], Make<int64_t>({1, 1}, {1}));
  OpTester strings("NonZero", 13);
  strings.Input(Make<std::string>({2}, {"", "a"}));
  ExpectSame(strings.Reference().value()[0], Make<int64_t>({1, 1}, {1}));
}

TEST(UniqueTest, FollowsTheText) {
  OpTester op("Unique", 11);
  op.Attribute("sorted", int64_t{0}).Outputs(4).Input(Make<float>({6}, {2, 1, 1, 3, 4, 3}));
  const std::vector<Tensor> y = op.Reference().value();
  ExpectSame(y[0], Make<float>({4}, {2, 1, 3, 4}));
  ExpectSame(y[1], Ints({0, 1, 3, 4}));
  ExpectSame(y[2], Ints({0, 1, 1, 2, 3, 2}));
  ExpectSame(y[3], Ints({1, 2, 2, 1}));
  OpTester strings("Unique", 11);
  strings.Input(Make<std::string>({3}, {"b", "a", "b"}));
  ExpectSame(strings.Reference().value()[0], Make<std::string>({2}, {"a", "b"}));
  OpTester slices("Unique", 11);
  slices.Attribute("axis", int64_t{1}).Input(Ints({})).Outputs(1);
  ExpectError(slices, "axis 1 is outside [-1,0] for rank 1");
  OpTester empty("Unique", 11);
  EXPECT_EQ(empty.Input(Ints({})).Reference().value()[0].num_elements(), 0);
}

}  // namespace
}  // namespace attnrun::testing
