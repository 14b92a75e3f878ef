// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Sums of up to 36 products, whose factors are rounded once more.
constexpr double kTolerance = 96 * kEpsilon;

Value* Random(GraphBuilder& b, const std::vector<int64_t>& shape, int seed) {
  std::mt19937 generator(seed);
  return b.Constant("w", RandomFloats(shape, generator));
}

// Numbers from 0.5 on.
Value* Positive(GraphBuilder& b, const std::vector<int64_t>& shape, int seed) {
  std::mt19937 generator(seed);
  Tensor tensor = RandomFloats(shape, generator);
  for (float& x : absl::MakeSpan(tensor.mutable_data<float>(), tensor.num_elements())) {
    x = 0.5F + std::abs(x);
  }
  return b.Constant("p", tensor);
}

Value* Normalized(GraphBuilder& b, Value* x, int64_t channels, AttributeMap attributes = {}) {
  return b.Op("BatchNormalization",
              {x, Random(b, {channels}, 1), Random(b, {channels}, 2), Random(b, {channels}, 3),
               Positive(b, {channels}, 4)},
              std::move(attributes));
}

Value* Image(GraphBuilder& b, int64_t channels = 4) {
  return b.Input("x", DataType::kFloat, {"batch", channels, "h", 7});
}

AttributeMap Grouped(int64_t group, std::vector<int64_t> pads = {}) {
  AttributeMap attributes = {{"group", group}};
  if (!pads.empty()) attributes["pads"] = pads;
  return attributes;
}

Value* Conv(GraphBuilder& b, Value* x, int64_t group = 1, bool bias = true,
            std::vector<int64_t> pads = {}) {
  std::vector<Value*> inputs = {x, Random(b, {6, 4 / group, 3, 3}, 5)};
  if (bias) inputs.push_back(Random(b, {6}, 6));
  return b.Op("Conv", inputs, Grouped(group, std::move(pads)));
}

using Write = std::function<Value*(GraphBuilder&)>;

void Expect(const Write& write, const std::string& ops, int opset = 20) {
  OptimizerTester test([&](GraphBuilder& b) { b.Output(write(b)); }, {}, opset);
  EXPECT_EQ(test.Ops(), ops);
  test.Dim("h", 8).ExpectSameResults(kTolerance);
}

TEST(FoldedScaleTest, ANormalizationJoinsTheProductBefore) {
  for (const int64_t group : {1, 2}) {
    for (const bool bias : {false, true}) {
      Expect([&](GraphBuilder& b) { return Normalized(b, Conv(b, Image(b), group, bias), 6); },
             "Conv");
      Expect(
          [&](GraphBuilder& b) {
            std::vector<Value*> inputs = {Image(b), Random(b, {4, 6 / group, 3, 2}, 5)};
            if (bias) inputs.push_back(Random(b, {6}, 6));
            Value* y = b.Op("ConvTranspose", inputs, Grouped(group));
            return Normalized(b, y, 6, {{"epsilon", 0.1F}});
          },
          "ConvTranspose");
    }
  }
}

TEST(FoldedScaleTest, ANormalizationJoinsAGemm) {
  for (const int64_t transposed : {0, 1}) {
    Expect(
        [&](GraphBuilder& b) {
          Value* x = b.Input("x", DataType::kFloat, {"batch", 4});
          Value* w = Random(
              b, transposed != 0 ? std::vector<int64_t>{6, 4} : std::vector<int64_t>{4, 6}, 5);
          Value* y = b.Op("Gemm", {x, w, Random(b, {6}, 6)}, {{"transB", transposed}});
          return Normalized(b, y, 6);
        },
        "attnrun.Linear");
  }
}

TEST(FoldedScaleTest, ConstantsForEachChannelOrForAll) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{6, 1, 1}, {1, 6, 1, 1}, {}, {1}, {1, 1, 1, 1}}) {
    for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
      Expect([&](GraphBuilder& b) { return b.Op(op, {Conv(b, Image(b)), Positive(b, shape, 7)}); },
             "Conv");
    }
    Expect([&](GraphBuilder& b) { return b.Op("Mul", {Positive(b, shape, 7), Conv(b, Image(b))}); },
           "Conv");
  }
}

TEST(FoldedScaleTest, InFrontOfAConvolution) {
  for (const int64_t group : {1, 2}) {
    Expect(
        [&](GraphBuilder& b) {
          Value* x = b.Op("Sub", {Image(b), Random(b, {4, 1, 1}, 7)});
          return Conv(b, b.Op("Mul", {x, Random(b, {4, 1, 1}, 8)}), group);
        },
        "Conv");
    Expect([&](GraphBuilder& b) { return Conv(b, Normalized(b, Image(b), 4), group, false); },
           "Conv");
    Expect(
        [&](GraphBuilder& b) {
          return Conv(b, b.Op("Mul", {Image(b), Random(b, {4, 1, 1}, 7)}), group, true,
                      {1, 0, 0, 2});
        },
        "Conv");
  }
}

TEST(FoldedScaleTest, NotAnImageThatBroadcasts) {
  for (const char* op : {"Add", "Mul"}) {
    Expect(
        [&](GraphBuilder& b) {
          return Conv(b, b.Op(op, {Image(b, 1), Random(b, {1, 4, 1, 1}, 7)}));
        },
        std::string(op) + " Transpose*2 attnrun.Conv");
  }
}

TEST(FoldedScaleTest, NotAShiftBeforePadding) {
  for (const std::vector<int64_t>& pads : {std::vector<int64_t>{1, 0, 0, 0}, {0, 0, 0, 1}}) {
    Expect(
        [&](GraphBuilder& b) {
          return Conv(b, b.Op("Add", {Image(b), Random(b, {4, 1, 1}, 7)}), 1, true, pads);
        },
        "Add Conv");
  }
  Expect(
      [&](GraphBuilder& b) {
        Value* x = Normalized(b, Image(b), 4);
        return b.Op("Conv", {x, Random(b, {6, 4, 3, 3}, 5)},
                    {{"auto_pad", std::string("SAME_UPPER")}});
      },
      "BatchNormalization Conv");
}

TEST(FoldedScaleTest, NotConstantsAlongOtherAxes) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{5}, {6, 6, 1}, {6, 1, 5}, {3, 1, 1, 1}, {1, 1, 6, 1, 1}}) {
    OptimizerTester test(
        [&](GraphBuilder& b) { b.Output(b.Op("Add", {Conv(b, Image(b)), Random(b, shape, 7)})); });
    EXPECT_EQ(test.Count("Add"), 1);
    test.Dim("h", 8).Dim("batch", 3).ExpectSameResults(kTolerance);
  }
  // The difference from a constant and the quotient of it are no such maps.
  Expect([&](GraphBuilder& b) { return b.Op("Sub", {Random(b, {6, 1, 1}, 7), Conv(b, Image(b))}); },
         "Conv Sub");
}

TEST(FoldedScaleTest, NotOfComputedNumbers) {
  Expect(
      [](GraphBuilder& b) {
        Value* scale = b.Input("scale", DataType::kFloat, {6, 1, 1});
        return b.Op("Mul", {Conv(b, Image(b)), scale});
      },
      "Conv Mul");
  Expect(
      [](GraphBuilder& b) {
        Value* w = b.Input("w", DataType::kFloat, {6, 4, 3, 3});
        return Normalized(b, b.Op("Conv", {Image(b), w}), 6);
      },
      "BatchNormalization Conv");
}

TEST(FoldedScaleTest, NotInTraining) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = Conv(b, Image(b));
    const std::vector<Value*> outputs =
        b.Ops("BatchNormalization", 3,
              {x, Random(b, {6}, 1), Random(b, {6}, 2), Random(b, {6}, 3), Positive(b, {6}, 4)},
              {{"training_mode", int64_t{1}}});
    b.Output(outputs[0]);
  });
  EXPECT_EQ(test.Ops(), "BatchNormalization Conv");
}

TEST(FoldedScaleTest, AConvolutionThatOthersReadStays) {
  OptimizerTester output([](GraphBuilder& b) {
    Value* x = Conv(b, Image(b));
    b.Output(Normalized(b, x, 6));
    b.Output(x);
  });
  EXPECT_EQ(output.Ops(), "BatchNormalization Conv");
  OptimizerTester read([](GraphBuilder& b) {
    Value* x = Conv(b, Image(b));
    b.Output(b.Op("Add", {Normalized(b, x, 6), b.Op("Relu", {x})}));
  });
  EXPECT_EQ(read.Ops(), "Add BatchNormalization Conv Relu");
}

TEST(FoldedScaleTest, NotBeyondTheLargestFloat) {
  const OptimizerTester test([](GraphBuilder& b) {
    b.Output(b.Op("Mul", {b.Op("Mul", {Conv(b, Image(b)), b.Constant<float>("n", {}, {1e20F})}),
                          b.Constant<float>("n", {}, {1e25F})}));
  });
  EXPECT_EQ(test.Ops(), "Conv Mul");
}

TEST(FoldedScaleTest, TheScaleOfAnAttentionStays) {
  Expect(
      [](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", 4});
        Value* y = b.Op("Gemm", {x, Random(b, {4, 6}, 5), Random(b, {6}, 6)});
        return b.Op("Mul", {y, b.Constant<float>("n", {}, {0.125F})});
      },
      "Mul attnrun.Linear");
}

}  // namespace
}  // namespace attnrun::testing
