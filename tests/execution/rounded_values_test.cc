// SPDX-License-Identifier: Apache-2.0
#include "execution/rounded_values.h"

#include <gtest/gtest.h>

#include <cstring>

#include "execution/executor.h"
#include "ops/tensors/cpu.h"
#include "optimizer/optimizer.h"
#include "support/graph_builder.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// Two linear layers, the first with an activation. With `shows_hidden` the value between them is an
// output as well.
class TwoLayers {
 public:
  explicit TwoLayers(bool shows_hidden) {
    GraphBuilder b;
    std::mt19937 generator(7);
    Value* x = b.Input("x", DataType::kFloat, {"n", 64});
    const auto layer = [&](Value* in, int64_t rows, int64_t columns, const std::string& name) {
      Value* y = b.Op("MatMul", {in, b.Constant(name, RandomFloats({rows, columns}, generator))});
      return b.Op("Add", {y, b.Constant(name + "b", RandomFloats({columns}, generator))});
    };
    Value* hidden = b.Op("Relu", {layer(x, 64, 96, "up")});
    b.Output(layer(hidden, 96, 40, "down"));
    if (shows_hidden) b.Output(hidden);
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

TEST(RoundedValuesTest, AreThoseThatEveryReaderRounds) {
  const TwoLayers hides(false);
  const TwoLayers shows(true);
  ASSERT_EQ(hides.plan().steps().size(), 2);
  EXPECT_EQ(hides.plan().steps()[0].stores_bf16, ops::ThisCpu().amx_bf16);
  EXPECT_EQ(hides.plan().steps()[1].rounded, ops::ThisCpu().amx_bf16 ? 1 : 0);
  EXPECT_FALSE(hides.plan().steps()[1].stores_bf16);
  for (const exec::Step& step : shows.plan().steps()) EXPECT_FALSE(step.stores_bf16);
}

TEST(RoundedValuesTest, ChangeNoBit) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({37, 64}, generator);
  const Tensor rounded = TwoLayers(false).Run(x);
  const Tensor kept = TwoLayers(true).Run(x);
  ASSERT_EQ(rounded.type(), DataType::kFloat);
  EXPECT_EQ(std::memcmp(rounded.raw(), kept.raw(), kept.byte_size()), 0);
}

}  // namespace
}  // namespace attnrun::testing
