// SPDX-License-Identifier: Apache-2.0
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

TEST(GatherTest, ASingleRowBecomesAView) {
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

TEST(ElementsTest, KernelsAgreeWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    // Kernels accept elements of at most one machine word.
    if (type == DataType::kComplex128) continue;
    for (int64_t axis = -3; axis < 3; ++axis) {
      const DataType index_type = axis % 2 == 0 ? DataType::kInt64 : DataType::kInt32;
      const Tensor data = RandomBits(type, {4, 4, 4}, generator);
      IntList shape = {3, 4, 2};
      shape[axis < 0 ? axis + 3 : axis] = 6;
      const Tensor indices = RandomInts(index_type, shape, generator, -4, 3);
      OpTester gather("GatherElements", 13);
      ExpectKernelSame(gather.Attribute("axis", axis).Input(data).Input(indices));
      OpTester scatter("ScatterElements", 18);
      scatter.Attribute("axis", axis).Input(data).Input(indices);
      ExpectKernelSame(scatter.Input(RandomBits(type, shape, generator)));
    }
  }
}

TEST(ElementsTest, ShapesAndIndicesMustFit) {
  const Tensor data = Make<float>({2, 2}, {1, 2, 3, 4});
  OpTester wide("GatherElements", 13);
  wide.Input(data).Input(Make<int64_t>({1, 3}, {0, 0, 0}));
  ExpectError(wide,
              "indices int64[1,3] must have the rank of data float[2,2] and be no larger along all "
              "axes but 0");
  OpTester outside("ScatterElements", 13);
  outside.Input(data).Input(Make<int64_t>({1, 1}, {-3})).Input(Make<float>({1, 1}, {5}));
  ExpectError(outside, "index -3 is outside [-2,1] along axis 0 of data float[2,2]");
  OpTester updates("ScatterElements", 13);
  updates.Input(data).Input(Make<int64_t>({1, 1}, {0})).Input(Make<float>({1}, {5}));
  ExpectError(updates, "updates must be float[1,1] like data and indices, but are float[1]");
}

TEST(NDTest, KernelsAgreeWithReference) {
  std::mt19937 generator(Seed());
  const struct {
    int64_t batch_dims;
    IntList indices;
  } kCases[] = {{0, {2}},       {0, {5, 1}},    {0, {2, 3, 3}}, {1, {3, 2}},
                {1, {3, 4, 1}}, {2, {3, 3, 1}}, {0, {0, 2}}};
  for (const DataType type : TypesOfEachWidth()) {
    for (const auto& test : kCases) {
      const Tensor data = RandomBits(type, {3, 3, 3}, generator);
      const Tensor indices = RandomInts(DataType::kInt64, test.indices, generator, -3, 2);
      OpTester gather("GatherND", 13);
      gather.Attribute("batch_dims", test.batch_dims).Input(data).Input(indices);
      ExpectKernelSame(gather);
      if (test.batch_dims > 0) continue;
      OpTester scatter("ScatterND", 18);
      const Shape shape = gather.Reference().value()[0].shape();
      scatter.Input(data).Input(indices);
      scatter.Input(RandomBits(type, {shape.begin(), shape.end()}, generator));
      ExpectKernelSame(scatter);
    }
  }
}

TEST(NDTest, TuplesMustFit) {
  const Tensor data = Make<float>({2, 2}, {1, 2, 3, 4});
  const auto gather = [&](Tensor indices, int64_t batch_dims) {
    OpTester op("GatherND", 13);
    op.Attribute("batch_dims", batch_dims).Input(data).Input(std::move(indices));
    return op;
  };
  ExpectError(gather(Ints({0, 0, 0}), 0),
              "tuples in int64[3] do not index data float[2,2] with 0 batch axes");
  ExpectError(gather(Ints({}), 0),
              "tuples in int64[0] do not index data float[2,2] with 0 batch axes");
  ExpectError(gather(ScalarInt(0), 0),
              "tuples in int64[] do not index data float[2,2] with 0 batch axes");
  ExpectError(gather(Ints({0}), -1),
              "tuples in int64[1] do not index data float[2,2] with -1 batch axes");
  ExpectError(gather(Ints({0}), 1),
              "tuples in int64[1] do not index data float[2,2] with 1 batch axes");
  ExpectError(gather(Ints({0, 2}), 0), "index 2 is outside [-2,1] along axis 1 of data float[2,2]");
  OpTester scatter("ScatterND", 13);
  scatter.Input(data).Input(Ints({0})).Input(Make<float>({1}, {1}));
  ExpectError(scatter, "updates must be float[2] like data and indices, but are float[1]");
}

TEST(ScatterTest, ReductionsOfKernelsAgreeWithReference) {
  std::mt19937 generator(Seed());
  for (const std::string reduction : {"add", "mul", "max", "min"}) {
    for (const DataType type :
         {DataType::kFloat, DataType::kDouble, DataType::kInt32, DataType::kInt64}) {
      for (int64_t axis = 0; axis < 3; ++axis) {
        const Tensor data = Converted(RandomFloats({4, 3, 5}, generator, 3), type);
        IntList shape = {4, 3, 5};
        shape[axis] = 9;
        OpTester elements("ScatterElements", 18);
        elements.Attribute("axis", axis).Attribute("reduction", reduction).Input(data);
        elements.Input(RandomInts(DataType::kInt64, shape, generator, -3, 2));
        elements.Input(Converted(RandomFloats(shape, generator, 3), type));
        // At most nine updates of an element, each rounded; values are up to 3 * 4 apiece.
        ExpectClose(elements.Kernel().value()[0], elements.Reference().value()[0],
                    16 * Epsilon(type));
        OpTester slices("ScatterND", 18);
        slices.Attribute("reduction", reduction).Input(data);
        slices.Input(RandomInts(DataType::kInt64, {7, 1}, generator, -4, 3));
        slices.Input(Converted(RandomFloats({7, 3, 5}, generator, 3), type));
        ExpectClose(slices.Kernel().value()[0], slices.Reference().value()[0], 16 * Epsilon(type));
      }
    }
  }
}

TEST(ScatterTest, NaNWinsInKernels) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::string reduction : {"max", "min"}) {
    OpTester op("ScatterElements", 18);
    op.Attribute("reduction", reduction).Input(Make<float>({3}, {nan, 1, 2}));
    op.Input(Ints({0, 1, 1})).Input(Make<float>({3}, {5, nan, 5}));
    ExpectClose(op.Kernel().value()[0], Make<float>({3}, {nan, nan, 2}), 0);
  }
}

TEST(ScatterTest, ReductionsCombineInOrder) {
  const std::pair<std::string, std::vector<float>> kCases[] = {
      {"add", {6, 2}}, {"mul", {6, 2}}, {"max", {3, 2}}, {"min", {1, 2}}, {"none", {3, 2}}};
  for (const auto& [reduction, expected] : kCases) {
    for (const std::string name : {"ScatterElements", "ScatterND"}) {
      OpTester op(name, 18);
      op.Attribute("reduction", reduction).Input(Make<float>({2}, {1, 2}));
      op.Input(name == "ScatterND" ? Make<int64_t>({2, 1}, {0, -2}) : Ints({0, -2}));
      op.Input(Make<float>({2}, {2, 3}));
      ExpectSame(op.Reference().value()[0], Make<float>({2}, expected));
      ExpectKernelSame(op);
    }
  }
  OpTester wraps("ScatterElements", 18);
  wraps.Attribute("reduction", std::string("mul")).Input(Ints({int64_t{1} << 62})).Input(Ints({0}));
  ExpectSame(wraps.Input(Ints({4})).Reference().value()[0], Ints({0}));
  ExpectKernelSame(wraps);
  OpTester big("ScatterElements", 18);
  big.Attribute("reduction", std::string("max")).Input(Make<uint64_t>({1}, {1})).Input(Ints({0}));
  big.Input(Make<uint64_t>({1}, {UINT64_MAX}));
  ExpectSame(big.Reference().value()[0], Make<uint64_t>({1}, {UINT64_MAX}));
  OpTester strings("ScatterElements", 18);
  strings.Attribute("reduction", std::string("add")).Input(Make<std::string>({1}, {"a"}));
  strings.Input(Ints({0})).Input(Make<std::string>({1}, {"b"}));
  ExpectError(strings, "this reduction is not defined for string[1]");
  ExpectError(OpTester("ScatterND", 16)
                  .Attribute("reduction", std::string("mean"))
                  .Input(Ints({1}))
                  .Input(Ints({0}))
                  .Input(ScalarInt(1)),
              "attribute 'reduction' must be one of none, add, mul, max, min (found 'mean')");
}

// As PyTorch writes it at opset 17.
TEST(ScatterTest, TakesTheLargestBelowVersion18) {
  OpTester op("ScatterElements", 16);
  op.Attribute("reduction", std::string("max")).Input(Make<float>({2}, {1, 5}));
  op.Input(Ints({0, 1})).Input(Make<float>({2}, {3, 4}));
  ExpectSame(op.Reference().value()[0], Make<float>({2}, {3, 5}));
}

TEST(TakeAlongAxisTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    if (BitWidth(type) > 64) continue;
    for (const IntList& indices : {IntList{4, 3, 6}, IntList{1, 3, 6}, IntList{6}, IntList{3, 0}}) {
      OpTester op("TakeAlongAxis", 1, "attnrun");
      op.Input(RandomBits(type, {4, 3, 5}, generator));
      op.Input(RandomInts(DataType::kInt64, indices, generator, -5, 4));
      ExpectKernelSame(op);
    }
  }
  OpTester overlapping("TakeAlongAxis", 1, "attnrun");
  overlapping.Input(RandomFloats({4, 3, 5}, generator));
  ExpectKernelSame(overlapping.Input(Ints({0, 4, 1, 3, 2}).View({4, 3, 2}, {0, -1, 1}, 2)));
}

TEST(TakeAlongAxisTest, ErrorsSayWhatIsWrong) {
  OpTester outside("TakeAlongAxis", 1, "attnrun");
  outside.Input(Make<float>({1, 2}, {1, 2}));
  ExpectError(outside.Input(Ints({1, 2})),
              "index 2 is outside [-2,1] along axis 1 of data float[1,2]");
  OpTester leading("TakeAlongAxis", 1, "attnrun");
  leading.Input(Make<float>({1, 2}, {1, 2}));
  ExpectError(leading.Input(Make<int64_t>({2, 1}, {0, 0})),
              "expected indices [...,T] whose leading axes broadcast to those of the data "
              "float[1,2], but found int64[2,1]");
}

TEST(TensorScatterTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : TypesOfEachWidth()) {
    for (const std::string mode : {"linear", "circular"}) {
      for (const int64_t axis : {1, -2}) {
        OpTester op("TensorScatter", 24);
        op.Attribute("mode", mode).Attribute("axis", axis);
        op.Input(RandomBits(type, {3, 5, 5, 2}, generator));
        const IntList update = axis == 1 ? IntList{3, 3, 5, 2} : IntList{3, 5, 3, 2};
        op.Input(RandomBits(type, update, generator));
        ExpectKernelSame(op.Input(Ints({0, mode == "linear" ? 2 : 13, 1})));
      }
    }
  }
  OpTester outside("TensorScatter", 24);
  outside.Input(Make<float>({1, 2, 1}, {1, 2})).Input(Make<float>({1, 1, 1}, {3}));
  ExpectError(outside.Input(Ints({2})),
              "writing 1 positions from 2 on does not fit the 2 of cache float[1,2,1]");
  OpTester batch("TensorScatter", 24);
  batch.Attribute("axis", int64_t{0}).Input(Make<float>({1}, {1})).Input(Make<float>({1}, {1}));
  ExpectError(batch, "update float[1] does not fit cache float[1] along axis 0");
}

TEST(CompressTest, SelectsSlices) {
  const Tensor x = Make<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  OpTester axis("Compress", 11);
  axis.Attribute("axis", int64_t{-1}).Input(x).Input(MakeBool({3}, {1, 0, 1}));
  ExpectSame(axis.Reference().value()[0], Make<int64_t>({2, 2}, {1, 3, 4, 6}));
  OpTester flat("Compress", 11);
  flat.Input(x).Input(MakeBool({4}, {0, 1, 0, 1}));
  ExpectSame(flat.Reference().value()[0], Ints({2, 4}));
  OpTester wide("Compress", 11);
  wide.Attribute("axis", int64_t{0}).Input(x).Input(MakeBool({3}, {1, 0, 1}));
  ExpectError(wide, "condition must be bool of at most 2 elements, but is bool[3]");
}

}  // namespace
}  // namespace attnrun::testing
