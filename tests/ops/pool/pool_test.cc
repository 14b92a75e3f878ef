// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Case {
  Ints x;
  Ints kernel;
  Ints strides = {};
  Ints pads = {};
  Ints dilations = {};
  bool ceil_mode = false;
  std::string auto_pad = "NOTSET";
};

OpTester Tester(const std::string& op_type, const Case& param) {
  OpTester op(op_type, 22);
  op.Attribute("kernel_shape", param.kernel).Attribute("auto_pad", param.auto_pad);
  op.Attribute("ceil_mode", int64_t{param.ceil_mode});
  if (!param.strides.empty()) op.Attribute("strides", param.strides);
  if (!param.pads.empty()) op.Attribute("pads", param.pads);
  if (!param.dilations.empty()) op.Attribute("dilations", param.dilations);
  return op;
}

void ExpectKernelAgrees(const OpTester& op, double tolerance) {
  ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], tolerance);
}

class PoolTest : public ::testing::TestWithParam<Case> {};

TEST_P(PoolTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats(GetParam().x, generator);
  const auto window = static_cast<double>(NumElements(GetParam().kernel).value());
  for (const DataType type : {DataType::kFloat, DataType::kBfloat16}) {
    OpTester max = Tester("MaxPool", GetParam());
    max.Input(Converted(x, type));
    ExpectKernelAgrees(max, 0);
    for (const int64_t include : {0, 1}) {
      OpTester average = Tester("AveragePool", GetParam());
      average.Attribute("count_include_pad", include).Input(Converted(x, type));
      ExpectKernelAgrees(average, Epsilon(type) + kEpsilon * window);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PoolTest,
    ::testing::Values(
        Case{{2, 3, 9}, {2}}, Case{{1, 2, 9}, {3}, {2}, {1, 1}},
        Case{.x = {1, 2, 10}, .kernel = {3}, .strides = {2}, .pads = {1, 2}, .ceil_mode = true},
        Case{.x = {1, 2, 9}, .kernel = {3}, .strides = {2}, .pads = {1, 0}, .ceil_mode = true},
        Case{{1, 2, 9, 7}, {3, 2}, {2, 3}, {1, 0, 0, 1}},
        Case{.x = {1, 2, 9, 7}, .kernel = {3, 2}, .dilations = {2, 1}},
        // Some elements of the input are in no window.
        Case{{1, 2, 11, 9}, {2, 2}, {4, 3}},
        Case{.x = {1, 2, 9, 7}, .kernel = {3, 2}, .strides = {2, 3}, .ceil_mode = true},
        Case{{1, 2, 9, 7}, {3, 3}, {2, 2}, {}, {}, false, "SAME_UPPER"},
        Case{{1, 2, 9, 7}, {4, 4}, {2, 2}, {}, {}, true, "SAME_LOWER"},
        Case{{1, 2, 9, 7}, {4, 4}, {2, 2}, {}, {}, true, "VALID"},
        Case{{1, 2, 4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {1, 1, 0, 0, 1, 1}},
        // Windows that cover whole axes; windows that cover whole images; images in several pieces
        // of unequal size.
        // Images whose channels are the last axis: many, a few, and windows without elements.
        Case{{2, 1, 9, 7, 83}, {3, 2, 1}, {2, 1, 1}, {1, 1, 0, 1, 0, 0}},
        Case{.x = {1, 1, 6, 9, 64}, .kernel = {5, 5, 1}, .pads = {2, 2, 0, 2, 2, 0}},
        Case{.x = {1, 1, 9, 7, 5}, .kernel = {2, 3, 1}, .dilations = {3, 2, 1}},
        Case{.x = {2, 2, 7, 20}, .kernel = {3, 1}, .strides = {2, 1}, .ceil_mode = true},
        Case{.x = {1, 1, 1, 3, 17},
             .kernel = {1, 2, 1},
             .strides = {1, 1, 1},
             .pads = {0, 3, 0, 0, 3, 0}},
        Case{{1, 2, 1, 1, 6, 1, 5}, {1, 1, 2, 1, 3}}, Case{{2, 20, 7, 9}, {7, 9}},
        Case{{3, 37, 40, 40}, {3, 3}, {1, 1}, {1, 1, 1, 1}}, Case{{1, 1, 1}, {1}},
        Case{.x = {1, 1, 3}, .kernel = {2}, .strides = {1}, .pads = {3, 3}},
        // The only window lies before the only element of an axis.
        Case{.x = {1, 2, 1, 5}, .kernel = {1, 2}, .strides = {2, 1}, .pads = {1, 0, 0, 0}},
        Case{{0, 2, 3}, {2}}, Case{{3, 0, 3, 3}, {2, 2}}));

TEST(PoolKernelTest, AgreesWithReferenceOnRandomWindows) {
  std::mt19937 generator(Seed());
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator);
  };
  for (int i = 0; i < 200; ++i) {
    Case param = {{draw(1, 2), draw(1, 3)}, {}};
    const int64_t axes = draw(1, 4);
    param.pads.resize(2 * axes);
    for (int64_t axis = 0; axis < axes; ++axis) {
      param.x.push_back(draw(1, 9));
      param.kernel.push_back(draw(1, 4));
      param.strides.push_back(draw(1, 3));
      param.dilations.push_back(draw(1, 2));
      const int64_t reach = (param.kernel.back() - 1) * param.dilations.back() + 1;
      param.pads[axis] = draw(0, reach - 1);
      param.pads[axes + axis] =
          draw(std::max<int64_t>(reach - param.pads[axis] - param.x.back(), 0), reach - 1);
    }
    param.ceil_mode = draw(0, 1) == 1;
    Tensor x = RandomFloats(param.x, generator);
    ExpectKernelAgrees(Tester("MaxPool", param).Input(x), 0);
    // At most 4^4 elements of a window.
    ExpectKernelAgrees(
        Tester("AveragePool", param).Attribute("count_include_pad", draw(0, 1)).Input(x),
        256 * kEpsilon);
    x.mutable_data<float>()[draw(0, x.num_elements() - 1)] = NAN;
    ExpectKernelAgrees(Tester("MaxPool", param).Input(x), 0);
  }
}

// Channels are the last axis, as between convolutions.
TEST(PoolKernelTest, NanIsTheMaximumOfItsChannel) {
  std::mt19937 generator(Seed());
  Tensor x = RandomFloats({1, 1, 8, 8, 70}, generator);
  for (const int64_t i : {0, 69, 1234, 4479}) x.mutable_data<float>()[i] = NAN;
  x.mutable_data<float>()[5] = -kInf;
  const Case param = {{}, {2, 2, 1}, {2, 2, 1}};
  ExpectKernelAgrees(Tester("MaxPool", param).Input(x), 0);
}

TEST(GlobalPoolTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const char* name : {"GlobalMaxPool", "GlobalAveragePool"}) {
    for (const Ints& x : {Ints{2, 3, 7, 9}, Ints{1, 20, 1500}, Ints{2, 5}}) {
      OpTester op(name, 22);
      op.Input(RandomFloats(x, generator));
      const int64_t window = NumElements(absl::MakeSpan(x).subspan(2)).value();
      ExpectKernelAgrees(op, kEpsilon * static_cast<double>(window));
    }
  }
  OpTester lp("GlobalLpPool", 22);
  lp.Input(Make<float>({1, 1, 2}, {3, -4}));
  ExpectClose(lp.Reference().value()[0], Make<float>({1, 1, 1}, {5}), 0);
}

TEST(MaxPoolTest, IndicesCountTheWholeInput) {
  for (const bool column_major : {false, true}) {
    OpTester op("MaxPool", 12);
    op.Attribute("kernel_shape", Ints{2, 2}).Attribute("storage_order", int64_t{column_major});
    op.Input(Make<int8_t>({2, 1, 2, 3}, {1, 9, -3, 4, 5, 6, 0, 0, 0, 0, 1, 0})).Outputs(2);
    const std::vector<Tensor> result = op.Reference().value();
    ExpectClose(result[0], Make<int8_t>({2, 1, 1, 2}, {9, 9, 1, 1}), 0);
    // Row 0, column 1 of the first image and row 1, column 1 of the second.
    const Ints indices = column_major ? Ints{2, 2, 9, 9} : Ints{1, 1, 10, 10};
    ExpectClose(result[1], Make<int64_t>({2, 1, 1, 2}, indices), 0);
    EXPECT_FALSE(op.Kernel().ok());
  }
}

// oneDNN's primitive ignores NaN and has no maximum below the lowest float.
TEST(MaxPoolTest, NanIsLargestAndEmptyWindowsGiveMinusInfinity) {
  OpTester op("MaxPool", 22);
  op.Attribute("kernel_shape", Ints{2}).Attribute("pads", Ints{2, 0});
  op.Input(Make<float>({1, 1, 4}, {NAN, 1, -kInf, -kInf}));
  const Tensor expected = Make<float>({1, 1, 5}, {-kInf, NAN, NAN, 1, -kInf});
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectKernelAgrees(op, 0);
  for (const float element : {NAN, -kInf, 1.0F, kInf, std::numeric_limits<float>::lowest()}) {
    OpTester global("GlobalMaxPool", 22);
    global.Input(Make<float>({1, 1, 2}, {element, element}));
    ExpectKernelAgrees(global, 0);
  }
}

TEST(PoolErrorsTest, SayWhatIsWrong) {
  const auto message = [](const Case& param) {
    OpTester op = Tester("MaxPool", param);
    op.Input(
        FromDoubles(DataType::kFloat, param.x, std::vector<double>(NumElements(param.x).value()))
            .value());
    EXPECT_FALSE(op.Kernel().ok());
    return std::string(op.Reference().status().message());
  };
  EXPECT_EQ(message({{1, 2}, {2}}),
            "expected an input [N, C, ..] with a spatial axis, but found [1,2]");
  EXPECT_EQ(message({{1, 2, 3}, {4}}),
            "a kernel that reaches over 4 elements does not fit spatial axis 0 of 3 elements and "
            "padding of 0");
  EXPECT_EQ(message({{1, 2, 3}, {2, 2}}),
            "expected the kernel's shape to hold 1 numbers, but found [2,2]");
  EXPECT_THAT(message({{1, 2, 3}, {2}, {}, {-1, 0}}), ::testing::HasSubstr("pads"));
  const int64_t huge = 1 << 30;
  EXPECT_THAT(
      message({{1, 1, 1, 1, 1}, {huge, huge, huge}, {}, {huge, huge, huge, huge, huge, huge}}),
      ::testing::HasSubstr("64 bits"));
  OpTester none("AveragePool", 22);
  none.Input(Make<float>({1, 1, 1}, {1}));
  EXPECT_EQ(none.Reference().status().message(),
            "attribute 'kernel_shape' is required (found none)");
}

// Found by the fuzzer of models: a table of the last axis took all memory. The reference has none.
TEST(PoolErrorsTest, ImagesWithoutElementsMayHaveAHugeExtent) {
  OpTester op("GlobalMaxPool", 20);
  op.Input(*Tensor::Allocate(DataType::kFloat, {1, 1, 0, int64_t{1} << 31}));
  EXPECT_FALSE(op.Kernel().ok());
  const float lowest = -std::numeric_limits<float>::infinity();
  ExpectClose(op.Reference().value()[0], Make<float>({1, 1, 1, 1}, {lowest}), 0);
}

TEST(PoolErrorsTest, HugeKernelsOverSmallInputsAreCheap) {
  OpTester op("AveragePool", 22);
  op.Attribute("kernel_shape", Ints{1 << 30, 1 << 30});
  op.Attribute("pads", Ints{1 << 30, 1 << 30, 0, 0}).Attribute("strides", Ints{1 << 30, 1 << 30});
  op.Input(Make<float>({1, 1, 1, 1}, {3}));
  ExpectKernelAgrees(op, 0);
}

}  // namespace
}  // namespace attnrun::testing
