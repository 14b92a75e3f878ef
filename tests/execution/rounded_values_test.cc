// SPDX-License-Identifier: Apache-2.0
#include "execution/rounded_values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "execution/executor.h"
#include "ops/tensors/cpu.h"
#include "optimizer/optimizer.h"
#include "support/graph_builder.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// A graph in bf16, with one input x, [n, 64] or of another shape.
class InBf16 {
 public:
  // `make` adds the rest of the graph.
  explicit InBf16(absl::FunctionRef<void(GraphBuilder&, Value*)> make,
                  std::initializer_list<DimSpec> shape = {"n", 64},
                  DataType type = DataType::kFloat) {
    GraphBuilder b;
    make(b, b.Input("x", type, shape));
    graph_ = b.Build().value();
    EXPECT_TRUE(opt::Optimize(*graph_, {}).ok());
    plan_ = exec::Plan::Make(*graph_, exec::KernelOptions{Precision::kBfloat16}).value();
  }

  Tensor Run(const Tensor& x) const {
    std::vector<Tensor> outputs;
    Interrupt never;
    EXPECT_TRUE(exec::Execute(*plan_, {x}, {{}, never, Allocator::Heap()}, outputs).ok());
    return outputs[0];
  }

  const exec::Plan& plan() const { return *plan_; }

 private:
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<exec::Plan> plan_;
};

// Products by random weights with a bias.
class Layers {
 public:
  explicit Layers(GraphBuilder& b) : b_(b) {}

  Value* operator()(Value* in, int64_t rows, int64_t columns, const std::string& name) {
    Value* y = b_.Op("MatMul", {in, b_.Constant(name, RandomFloats({rows, columns}, generator_))});
    return b_.Op("Add", {y, b_.Constant(name + "b", RandomFloats({columns}, generator_))});
  }

 private:
  GraphBuilder& b_;
  std::mt19937 generator_{7};
};

// Two linear layers, the first with an activation. With `shows_hidden` the value between them is an
// output as well.
InBf16 TwoLayers(bool shows_hidden) {
  return InBf16([&](GraphBuilder& b, Value* x) {
    Layers layer(b);
    Value* hidden = b.Op("Relu", {layer(x, 64, 96, "up")});
    b.Output(layer(hidden, 96, 40, "down"));
    if (shows_hidden) b.Output(hidden);
  });
}

// An attention of 3 heads of 20 between linear layers. With `shows_hidden` the values that it reads
// are outputs as well.
InBf16 AttentionBetweenLayers(bool shows_hidden) {
  return InBf16([&](GraphBuilder& b, Value* x) {
    Layers layer(b);
    std::vector<Value*> hidden;
    const auto heads = [&](const std::string& name, std::vector<int64_t> order) {
      Value* y = layer(x, 64, 60, name);
      hidden.push_back(y);
      y = b.Op("Reshape", {y, b.Constant<int64_t>(name + "s", {4}, {1, -1, 3, 20})});
      return b.Op("Transpose", {y}, {{"perm", std::move(order)}});
    };
    Value* scores = b.Op("MatMul", {heads("q", {0, 2, 1, 3}), heads("k", {0, 2, 3, 1})});
    Value* weights = b.Op("Softmax", {scores}, {{"axis", int64_t{-1}}});
    Value* y = b.Op("MatMul", {weights, heads("v", {0, 2, 1, 3})});
    y = b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    y = b.Op("Reshape", {y, b.Constant<int64_t>("merged", {2}, {-1, 60})});
    b.Output(layer(y, 60, 40, "out"));
    for (Value* value : hidden) {
      if (shows_hidden) b.Output(b.Op("Identity", {value}));
    }
  });
}

TEST(RoundedValuesTest, AreThoseThatEveryReaderRounds) {
  const InBf16 hides = TwoLayers(false);
  const InBf16 shows = TwoLayers(true);
  ASSERT_EQ(hides.plan().steps().size(), 2);
  EXPECT_EQ(hides.plan().steps()[0].stores_bf16, ops::ThisCpu().amx_bf16);
  EXPECT_EQ(hides.plan().steps()[1].rounded, ops::ThisCpu().amx_bf16 ? 1 : 0);
  EXPECT_FALSE(hides.plan().steps()[1].stores_bf16);
  for (const exec::Step& step : shows.plan().steps()) EXPECT_FALSE(step.stores_bf16);
}

// A convolution of 2 groups between pointwise ones, as in a ResNet. With `shows_hidden` its input
// and its output are outputs as well.
InBf16 Bottleneck(bool shows_hidden, DataType type = DataType::kFloat) {
  const auto make = [&](GraphBuilder& b, Value* x) {
    std::mt19937 generator(7);
    const auto conv = [&](Value* in, const std::vector<int64_t>& shape, AttributeMap attributes) {
      Value* w = b.Constant("w", Converted(RandomFloats(shape, generator), type));
      return b.Op("Conv", {in, w}, std::move(attributes));
    };
    Value* reduced = b.Op("Relu", {conv(x, {64, 24, 1, 1}, {})});
    Value* wide =
        b.Op("Relu", {conv(reduced, {64, 32, 3, 3},
                           {{"pads", std::vector<int64_t>(4, 1)}, {"group", int64_t{2}}})});
    b.Output(conv(wide, {24, 64, 1, 1}, {}));
    for (Value* value : {reduced, wide}) {
      if (shows_hidden) b.Output(value);
    }
  };
  return InBf16(make, {"n", 24, "h", "w"}, type);
}

void ExpectSameBits(const Tensor& rounded, const Tensor& kept) {
  ASSERT_EQ(rounded.type(), DataType::kFloat);
  ASSERT_EQ(rounded.shape(), kept.shape());
  EXPECT_EQ(std::memcmp(rounded.raw(), kept.raw(), kept.byte_size()), 0);
}

TEST(RoundedValuesTest, ChangeNoBit) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({37, 64}, generator);
  ExpectSameBits(TwoLayers(false).Run(x), TwoLayers(true).Run(x));
}

TEST(RoundedValuesTest, OfConvolutionsChangeNoBit) {
  std::mt19937 generator(Seed());
  const InBf16 hides = Bottleneck(false);
  int rounded = 0;
  for (const exec::Step& step : hides.plan().steps()) rounded += step.stores_bf16 ? 1 : 0;
  EXPECT_EQ(rounded, ops::ThisCpu().amx_bf16 ? 2 : 0);
  const Tensor x = RandomFloats({2, 24, 13, 11}, generator);
  ExpectSameBits(hides.Run(x), Bottleneck(true).Run(x));
}

// Values that a model stores as bfloat16 stay so: no producer rounded them.
TEST(RoundedValuesTest, ModelsInBfloat16HaveNone) {
  std::mt19937 generator(Seed());
  const Tensor x = Converted(RandomFloats({2, 24, 13, 11}, generator), DataType::kBfloat16);
  const Tensor y = Bottleneck(false, DataType::kBfloat16).Run(x);
  EXPECT_EQ(y.type(), DataType::kBfloat16);
  ExpectClose(y, Bottleneck(true, DataType::kBfloat16).Run(x), 0);
}

TEST(RoundedValuesTest, OfAttentionChangeNoBit) {
  std::mt19937 generator(Seed());
  const InBf16 hides = AttentionBetweenLayers(false);
  int rounded = 0;
  for (const exec::Step& step : hides.plan().steps()) rounded += step.stores_bf16 ? 1 : 0;
  EXPECT_EQ(rounded, ops::ThisCpu().amx_bf16 ? 2 : 0);
  // 5,000 keys are more than are packed at once.
  for (const int64_t rows : {37, 5000}) {
    const Tensor x = RandomFloats({rows, 64}, generator);
    ExpectSameBits(hides.Run(x), AttentionBetweenLayers(true).Run(x));
  }
}

}  // namespace
}  // namespace attnrun::testing
