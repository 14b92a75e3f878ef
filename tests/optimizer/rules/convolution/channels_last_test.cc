// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

// Sums of up to 54 products, several of them in a row.
constexpr double kTolerance = 512 * kEpsilon;

std::vector<int64_t> Ints(std::initializer_list<int64_t> numbers) { return numbers; }

Value* IntsOf(GraphBuilder& b, std::initializer_list<int64_t> numbers) {
  return b.Constant("ints", {static_cast<int64_t>(numbers.size())}, numbers);
}

Value* Random(GraphBuilder& b, const std::vector<int64_t>& shape, int seed = 7) {
  std::mt19937 generator(seed);
  return b.Constant("w", RandomFloats(shape, generator, 0.25F));
}

Value* Image(GraphBuilder& b, const char* name = "x") {
  return b.Input(name, DataType::kFloat, {"batch", 6, "h", "w"});
}

// A convolution of 6 channels to 6.
Value* Conv(GraphBuilder& b, Value* x, AttributeMap attributes = {{"pads", Ints({1, 1, 1, 1})}},
            int64_t group = 1) {
  attributes["group"] = group;
  return b.Op("Conv", {x, Random(b, {6, 6 / group, 3, 3}), Random(b, {6}, 8)}, attributes);
}

Value* Pointwise(GraphBuilder& b, Value* x) {
  return b.Op("Conv", {x, Random(b, {6, 6, 1, 1}), Random(b, {6}, 8)});
}

using Write = std::function<Value*(GraphBuilder&)>;
using Between = std::function<Value*(GraphBuilder&, Value*)>;

OptimizerTester Expect(const Write& write, const std::string& ops, int opset = 20) {
  OptimizerTester test([&](GraphBuilder& b) { b.Output(write(b)); }, {}, opset);
  EXPECT_EQ(test.Ops(), ops);
  test.Dim("h", 8).Dim("w", 10).ExpectSameResults(kTolerance);
  return test;
}

// Expects one Transpose before and one behind two convolutions with `between` between them, which
// becomes `ops`.
void ExpectBetween(const Between& between, const std::string& ops, int opset = 20) {
  const std::string space = ops.empty() ? "" : " ";
  const std::string all = ops < "Transpose" ? ops + space + "Transpose*2 attnrun.Conv*2"
                                            : "Transpose*2" + space + ops + " attnrun.Conv*2";
  Expect([&](GraphBuilder& b) { return Conv(b, between(b, Conv(b, Image(b)))); }, all, opset);
}

TEST(ChannelsLastTest, ConvolutionsThatFollowEachOther) {
  ExpectBetween([](GraphBuilder&, Value* x) { return x; }, "");
  for (const char* auto_pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    Expect(
        [&](GraphBuilder& b) {
          const AttributeMap attributes = {{"auto_pad", std::string(auto_pad)},
                                           {"strides", Ints({2, 1})}};
          return Conv(b, Conv(b, Image(b), attributes));
        },
        "Transpose*2 attnrun.Conv*2");
  }
  const AttributeMap uneven = {{"pads", Ints({0, 2, 1, 0})}, {"dilations", Ints({1, 2})}};
  for (const int64_t group : {1, 2, 6}) {
    Expect([&](GraphBuilder& b) { return Conv(b, Conv(b, Image(b), uneven, group)); },
           "Transpose*2 attnrun.Conv*2");
  }
}

TEST(ChannelsLastTest, PointwiseConvolutionsAreLinear) {
  Expect([](GraphBuilder& b) { return Conv(b, Pointwise(b, Image(b))); },
         "Transpose*2 attnrun.Conv attnrun.Linear");
  // With a stride it is none.
  Expect(
      [](GraphBuilder& b) {
        Value* x = b.Op("Conv", {Image(b), Random(b, {6, 6, 1, 1})}, {{"strides", Ints({2, 2})}});
        return Conv(b, x);
      },
      "Transpose*2 attnrun.Conv*2");
}

TEST(ChannelsLastTest, Pools) {
  const AttributeMap windows = {
      {"kernel_shape", Ints({3, 2})}, {"strides", Ints({2, 1})}, {"pads", Ints({1, 0, 0, 1})}};
  AttributeMap whole = windows;
  whole["ceil_mode"] = int64_t{1};
  whole["dilations"] = Ints({1, 2});
  for (const char* pool : {"MaxPool", "AveragePool"}) {
    for (const AttributeMap& attributes : {windows, whole}) {
      Expect([&](GraphBuilder& b) { return Conv(b, b.Op(pool, {Conv(b, Image(b))}, attributes)); },
             std::string(pool) + " Squeeze Transpose*2 Unsqueeze attnrun.Conv*2");
    }
  }
  // Indices count over all elements of the image.
  const OptimizerTester test([&](GraphBuilder& b) {
    const std::vector<Value*> pooled = b.Ops("MaxPool", 2, {Conv(b, Image(b))}, windows);
    b.Output(Conv(b, pooled[0]));
    b.Output(pooled[1]);
  });
  EXPECT_EQ(test.Count("Unsqueeze"), 0);
}

TEST(ChannelsLastTest, AConvolutionAloneStays) {
  Expect([](GraphBuilder& b) { return Conv(b, Image(b)); }, "Conv");
  Expect([](GraphBuilder& b) { return b.Op("Relu", {Conv(b, b.Op("Sin", {Image(b)}))}); },
         "Conv Relu Sin");
}

TEST(ChannelsLastTest, AConvolutionBesideATranspose) {
  Expect(
      [](GraphBuilder& b) {
        return b.Op("Transpose", {Conv(b, Image(b))}, {{"perm", Ints({0, 2, 3, 1})}});
      },
      "Transpose attnrun.Conv");
  Expect(
      [](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", "h", "w", 6});
        return Conv(b, b.Op("Transpose", {x}, {{"perm", Ints({0, 3, 1, 2})}}));
      },
      "Transpose attnrun.Conv");
}

TEST(ChannelsLastTest, ComputedWeightsStay) {
  Expect(
      [](GraphBuilder& b) {
        Value* w = b.Input("weight", DataType::kFloat, {6, 6, 3, 3});
        return b.Op("Conv", {b.Op("Conv", {Image(b), w}), w});
      },
      "Conv*2");
}

TEST(ChannelsLastTest, SequencesStay) {
  Expect(
      [](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", 6, "w"});
        for (int i = 0; i < 2; ++i) x = b.Op("Conv", {x, Random(b, {6, 6, 3})});
        return x;
      },
      "Conv*2");
}

TEST(ChannelsLastTest, ElementwiseNodesBetween) {
  ExpectBetween([](GraphBuilder& b, Value* x) { return b.Op("Sin", {x}); }, "Sin");
  ExpectBetween([](GraphBuilder& b, Value* x) { return b.Op("Sub", {x, b.Op("Cos", {x})}); },
                "Cos Sub");
  // Constants of any shape that broadcasts.
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, {6, 1, 1}, {1, 6, 1, 1}, {1, 1}, {10}, {8, 1}}) {
    ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("Max", {Random(b, shape), x, x}); },
                  "Max");
  }
}

TEST(ChannelsLastTest, AnOperandOfFewerAxesKeepsItsLayout) {
  Expect(
      [](GraphBuilder& b) {
        Value* y = b.Input("y", DataType::kFloat, {6, 1, 1});
        return Conv(b, b.Op("Sub", {Conv(b, Image(b)), b.Op("Sin", {y})}));
      },
      "Conv*2 Sin Sub");
}

TEST(ChannelsLastTest, NodesThatNameAxes) {
  const auto axis = [](int64_t number) { return AttributeMap{{"axis", number}}; };
  for (const int64_t at : {1, -3, 2, -1}) {
    ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("Softmax", {x}, axis(at)); },
                  "Softmax");
  }
  for (const int64_t at : {1, 2, 3}) {
    Expect(
        [&](GraphBuilder& b) {
          Value* x = Conv(b, Image(b));
          Value* both = b.Op("Concat", {x, b.Op("Sin", {x})}, axis(at));
          const std::vector<Value*> parts =
              b.Ops("Split", 2, {both}, {{"axis", at}, {"num_outputs", int64_t{2}}});
          return Conv(b, b.Op("Sub", {b.Op("Tanh", {parts[0]}), parts[1]}));
        },
        "Concat Sin Split Sub Tanh Transpose*2 attnrun.Conv*2");
  }
  ExpectBetween(
      [](GraphBuilder& b, Value* x) {
        return b.Op("Slice", {x, IntsOf(b, {1, 0}), IntsOf(b, {7, 6}), IntsOf(b, {2, -3}),
                              IntsOf(b, {2, 1})});
      },
      "Slice");
  ExpectBetween(
      [](GraphBuilder& b, Value* x) {
        return b.Op("Pad", {x, IntsOf(b, {0, 0, 1, 2, 0, 0, 0, 3})},
                    {{"mode", std::string("reflect")}});
      },
      "Pad");
  ExpectBetween(
      [](GraphBuilder& b, Value* x) {
        return b.Op("Pad", {x, IntsOf(b, {2, 1}), Random(b, {}), IntsOf(b, {-1})});
      },
      "Pad");
}

TEST(ChannelsLastTest, ResizedImages) {
  ExpectBetween(
      [](GraphBuilder& b, Value* x) {
        Value* scales = b.Constant<float>("scales", {4}, {1, 1, 2, 3});
        return b.Op("Resize", {x, nullptr, scales},
                    {{"mode", std::string("nearest")},
                     {"coordinate_transformation_mode", std::string("asymmetric")}});
      },
      "Resize");
  ExpectBetween(
      [](GraphBuilder& b, Value* x) {
        return b.Op("Resize", {x, nullptr, nullptr, IntsOf(b, {3, 6, 5, 7})},
                    {{"mode", std::string("linear")}});
      },
      "Resize");
  ExpectBetween(
      [](GraphBuilder& b, Value* x) {
        return b.Op("Upsample", {x, b.Constant<float>("scales", {4}, {1, 1, 2, 3})});
      },
      "Upsample", 9);
}

// Transposes [N, L, C] to [N, C, L] or back.
Value* Swapped(GraphBuilder& b, Value* x) {
  return b.Op("Transpose", {x}, {{"perm", Ints({0, 2, 1})}});
}

// As in the feed-forward blocks of SegFormer.
TEST(ChannelsLastTest, TokensThatAreConvolved) {
  Expect(
      [](GraphBuilder& b) {
        Value* x =
            b.Op("MatMul", {b.Input("x", DataType::kFloat, {"batch", 80, 4}), Random(b, {4, 6})});
        x = b.Op("Reshape", {Swapped(b, x), IntsOf(b, {-1, 6, 8, 10})});
        x = b.Op("Reshape", {Conv(b, x, {{"pads", Ints({1, 1, 1, 1})}}, 6), IntsOf(b, {0, 6, -1})});
        return b.Op("MatMul", {Swapped(b, x), Random(b, {6, 5})});
      },
      "Reshape*2 attnrun.Conv attnrun.Linear*2");
}

// Convolutions along a single axis, as those before the encoders of Whisper and wav2vec 2.0.
TEST(ChannelsLastTest, SoundsThatAreConvolved) {
  const auto convolve = [](GraphBuilder& b, int64_t features) {
    const AttributeMap pads = {{"pads", Ints({1, 1})}};
    Value* x = b.Input("x", DataType::kFloat, {"batch", 6, "w"});
    x = b.Op("Gelu", {b.Op("Conv", {x, Random(b, {features, 6, 3}), Random(b, {features})}, pads)});
    x = b.Op("Gelu", {b.Op("Conv", {x, Random(b, {features, features, 3})}, pads)});
    return b.Op("MatMul", {Swapped(b, x), Random(b, {features, 5})});
  };
  Expect([&](GraphBuilder& b) { return convolve(b, 40); },
         "Transpose attnrun.Conv*2 attnrun.Linear");
  // Few features, as in vocoders.
  Expect([&](GraphBuilder& b) { return convolve(b, 8); }, "Conv*2 Gelu*2 Transpose attnrun.Linear");
}

// The extents of the image are read off another one.
TEST(ChannelsLastTest, ATargetThatIsComputed) {
  Expect(
      [](GraphBuilder& b) {
        Value* image = Conv(b, Image(b));
        Value* x = Swapped(b, b.Op("Reshape", {image, IntsOf(b, {0, 6, -1})}));
        x = b.Op("CumSum", {x, IntsOf(b, {1})});
        return Conv(b, b.Op("Reshape", {Swapped(b, x), b.Op("Shape", {image})}));
      },
      "Concat CumSum Reshape*2 Shape*3 Transpose*2 attnrun.Conv*2");
}

// The channels are other ones.
TEST(ChannelsLastTest, AReshapeThatMovesChannelsStays) {
  Expect(
      [](GraphBuilder& b) {
        Value* x = b.Op("Reshape", {Conv(b, Image(b)), IntsOf(b, {0, 3, 2, -1})});
        return Conv(b, b.Op("Reshape", {b.Op("Sin", {x}), IntsOf(b, {0, 6, 8, 10})}));
      },
      "Conv*2 Reshape*2 Sin");
}

TEST(ChannelsLastTest, SqueezeAndExcitation) {
  for (const char* pool : {"GlobalAveragePool", "ReduceMean"}) {
    Expect(
        [&](GraphBuilder& b) {
          Value* x = Conv(b, Image(b));
          std::vector<Value*> inputs = {x};
          if (pool[0] == 'R') inputs.push_back(IntsOf(b, {2, 3}));
          Value* mean = b.Op(pool, inputs);
          Value* gate = b.Op("Sigmoid", {Pointwise(b, b.Op("Relu", {Pointwise(b, mean)}))});
          return Conv(b, b.Op("Mul", {x, gate}));
        },
        "Mul ReduceMean Transpose*2 attnrun.Conv*2 attnrun.Linear*2");
  }
}

TEST(ChannelsLastTest, AProjectionOfAMeanIsLinear) {
  Expect(
      [](GraphBuilder& b) {
        Value* mean = b.Op("GlobalAveragePool", {Conv(b, Conv(b, Image(b)))});
        return b.Op("Reshape", {b.Op("HardSwish", {Pointwise(b, mean)}), IntsOf(b, {-1, 6})});
      },
      "ReduceMean Reshape Transpose attnrun.Conv*2 attnrun.Linear");
}

TEST(ChannelsLastTest, AMeanOfEachChannelEndsTheImages) {
  Expect(
      [](GraphBuilder& b) {
        Value* x = Conv(b, Conv(b, Image(b)));
        Value* mean = b.Op("ReduceMean", {x, IntsOf(b, {-1, -2})}, {{"keepdims", int64_t{0}}});
        return b.Op("MatMul", {mean, Random(b, {6, 4})});
      },
      "ReduceMean Transpose attnrun.Conv*2 attnrun.Linear");
}

TEST(ChannelsLastTest, ANormalizationBetween) {
  Expect(
      [](GraphBuilder& b) {
        Value* x = b.Op("Sin", {Conv(b, Image(b))});
        Value* positive = b.Constant<float>("v", {6}, {1, 2, 3, 4, 5, 6});
        x = b.Op("BatchNormalization",
                 {x, Random(b, {6}), Random(b, {6}), Random(b, {6}), positive});
        return Conv(b, b.Op("Cos", {x}));
      },
      "Cos Sin Transpose*2 attnrun.Conv*3");
}

TEST(ChannelsLastTest, AnImageThatIsAnOutputIsTransposedOnce) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = Conv(b, Image(b));
    b.Output(x)
        .Output(Conv(b, b.Op("Sin", {x})))
        .Output(b.Op("DepthToSpace", {Conv(b, x)}, {{"blocksize", int64_t{1}}}));
  });
  EXPECT_EQ(test.Count("Transpose"), 4);
  EXPECT_EQ(test.Count("attnrun.Conv"), 3);
  test.Dim("h", 8).Dim("w", 10).ExpectSameResults(kTolerance);
}

TEST(ChannelsLastTest, TheRuleCanBeLeftOut) {
  opt::OptimizerOptions options;
  options.disabled_passes = {"channels_last"};
  const OptimizerTester test([](GraphBuilder& b) { b.Output(Conv(b, Conv(b, Image(b)))); },
                             options);
  EXPECT_EQ(test.Ops(), "Conv*2");
}

TEST(ChannelsLastTest, ActivationsAndResidualsJoinTheConvolution) {
  const auto number = [](GraphBuilder& b, float n) { return b.Constant<float>("n", {}, {n}); };
  ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("Relu", {x}); }, "");
  ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("HardSwish", {x}); }, "");
  ExpectBetween(
      [&](GraphBuilder& b, Value* x) { return b.Op("HardSigmoid", {x}, {{"alpha", 0.3F}}); }, "");
  ExpectBetween(
      [&](GraphBuilder& b, Value* x) { return b.Op("LeakyRelu", {x}, {{"alpha", 0.3F}}); }, "");
  ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("Mish", {x}); }, "");
  ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("PRelu", {x, number(b, 0.3F)}); }, "");
  ExpectBetween(
      [&](GraphBuilder& b, Value* x) { return b.Op("Clip", {x, number(b, -1), number(b, 2)}); },
      "");
  ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("Clip", {x, nullptr, number(b, 2)}); },
                "");
  ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("Max", {x, number(b, -0.5F)}); }, "");
  ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("Min", {number(b, 1), x}); }, "");
  ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("Mul", {x, b.Op("Sigmoid", {x})}); },
                "");
  // Slopes for each channel, and bounds that are computed.
  ExpectBetween([&](GraphBuilder& b, Value* x) { return b.Op("PRelu", {x, Random(b, {6, 1, 1})}); },
                "PRelu");
  ExpectBetween([&](GraphBuilder& b,
                    Value* x) { return b.Op("Clip", {x, b.Input("low", DataType::kFloat, {})}); },
                "Clip");
}

TEST(ChannelsLastTest, AResidualBeforeOrBehindTheActivation) {
  for (const bool activated : {false, true}) {
    for (const bool after : {false, true}) {
      Expect(
          [&](GraphBuilder& b) {
            Value* r = b.Op("Sin", {Conv(b, Image(b))});
            Value* x = Conv(b, r);
            if (activated) x = b.Op("Relu", {x});
            x = b.Op("Add", {r, x});
            if (after) x = b.Op("LeakyRelu", {x});
            return Conv(b, x);
          },
          std::string(activated && after ? "LeakyRelu " : "") + "Sin Transpose*2 attnrun.Conv*3");
    }
  }
  // One that broadcasts stays a sum of its own.
  Expect(
      [&](GraphBuilder& b) {
        Value* r = b.Op("ReduceMean", {Image(b), IntsOf(b, {2})});
        return Conv(b, b.Op("Add", {Conv(b, b.Op("Sin", {Image(b, "y")})), b.Op("Cos", {r})}));
      },
      "Add Cos ReduceMean Sin Transpose*3 attnrun.Conv*2");
}

}  // namespace
}  // namespace attnrun::testing
