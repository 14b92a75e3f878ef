#include <gtest/gtest.h>

#include <limits>

#include "support/any_type.h"

namespace attnrun::testing {
namespace {

using IntList = std::vector<int64_t>;

TEST(GatherTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    for (int64_t axis = -3; axis < 3; ++axis) {
      for (const IntList& shape : {IntList{}, IntList{1}, IntList{2, 5}, IntList{0}}) {
        OpTester op("Gather", 13);
        op.Attribute("axis", axis).Input(RandomBits(type, {3, 3, 3}, generator));
        op.Input(RandomInts(axis % 2 == 0 ? DataType::kInt64 : DataType::kInt32, shape, generator,
                            -3, 2));
        ExpectKernelSame(op);
      }
    }
  }
  OpTester embedding("Gather", 13);
  embedding.Input(RandomFloats({100, 384}, generator));
  embedding.Input(RandomInts(DataType::kInt64, {4, 128}, generator, 0, 99));
  ExpectKernelSame(embedding);
}

TEST(GatherTest, ASingleRowIsAView) {
  OpTester op("Gather", 13);
  const Tensor x = Ints({5, 6, 7});
  op.Input(x).Input(ScalarInt(-2));
  EXPECT_EQ(op.Kernel().value()[0].raw(), x.data<int64_t>() + 1);
  ExpectSame(op.Kernel().value()[0], ScalarInt(6));
}

TEST(GatherTest, IndicesMustBeInside) {
  for (const int64_t index : {int64_t{7}, int64_t{-4}, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()}) {
    OpTester op("Gather", 13);
    op.Input(Tensor::Allocate(DataType::kFloat, {3, 4}).value()).Input(Ints({0, index}));
    ExpectError(op, "index " + std::to_string(index) +
                        " is outside [-3,2] along axis 0 of data float[3,4]");
  }
  OpTester empty("Gather", 13);
  empty.Input(Make<float>({0}, {})).Input(Ints({0}));
  ExpectError(empty, "index 0 is outside [0,-1] along axis 0 of data float[0]");
  OpTester floats("Gather", 13);
  floats.Input(Ints({1})).Input(Make<float>({1}, {0}));
  ExpectError(floats, "indices must be int32 or int64, but are float[1]");
  OpTester scalar("Gather", 13);
  scalar.Input(ScalarInt(1)).Input(Ints({0}));
  ExpectError(scalar, "axis 0 is outside [0,-1] for rank 0");
}

}  // namespace
}  // namespace attnrun::testing
