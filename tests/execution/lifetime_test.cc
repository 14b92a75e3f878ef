// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "execution/pool_allocator.h"
#include "support/op_tester.h"
#include "support/plan_tester.h"

namespace attnrun::testing {
namespace {

std::vector<float> Floats(const Tensor& tensor) {
  const Tensor dense = tensor.Dense().value();
  return {dense.data<float>(), dense.data<float>() + dense.num_elements()};
}

class CountingAllocator final : public Allocator {
 public:
  absl::StatusOr<std::shared_ptr<void>> Allocate(size_t bytes) override {
    ++count;
    return Allocator::Heap().Allocate(bytes);
  }
  int count = 0;
};

TEST(LifetimeTest, AChainOverwritesItsOwnResults) {
  const PlanTester plan([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"n"});
    for (const char* op : {"Neg", "Abs", "Exp", "Sqrt", "Neg"}) x = b.Op(op, {x});
    b.Output(x);
  });
  CountingAllocator allocator;
  ASSERT_TRUE(plan.Run({Make<float>({3}, {1, 2, 3})}, {}, allocator).ok());
  EXPECT_EQ(allocator.count, 1);
}

TEST(LifetimeTest, InputsAreNeverWritten) {
  const PlanTester plan([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"n"});
    b.Output(b.Op("Neg", {b.Op("Reshape", {x, b.Constant<int64_t>("flat", {1}, {-1})})}));
  });
  const Tensor x = Make<float>({3}, {1, 2, 3});
  // The tensor is the only owner of its bytes, as when a caller hands its buffer over.
  std::vector<Tensor> inputs = {Make<float>({3}, {1, 2, 3})};
  const auto outputs = plan.Run(inputs).value();
  ExpectClose(inputs[0], x, 0);
  ExpectClose(outputs[0], Make<float>({3}, {-1, -2, -3}), 0);
}

TEST(LifetimeTest, OutputsMayBeInputsConstantsAndOneValueTwice) {
  const PlanTester plan([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {2});
    Value* w = b.Constant<float>("w", {2}, {5, 6});
    Value* y = b.Op("Mul", {x, w});
    b.Output(x).Output(w).Output(y).Output(y).Output(b.Op("Neg", {b.Op("Identity", {w})}));
    b.Output(b.Op("Neg", {y}));
  });
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto outputs = plan.Run({Make<float>({2}, {1, 2})}).value();
    ASSERT_EQ(outputs.size(), 6);
    EXPECT_THAT(Floats(outputs[0]), ::testing::ElementsAre(1, 2));
    EXPECT_THAT(Floats(outputs[1]), ::testing::ElementsAre(5, 6));
    EXPECT_THAT(Floats(outputs[2]), ::testing::ElementsAre(5, 12));
    EXPECT_THAT(Floats(outputs[3]), ::testing::ElementsAre(5, 12));
    EXPECT_THAT(Floats(outputs[4]), ::testing::ElementsAre(-5, -6));
    EXPECT_THAT(Floats(outputs[5]), ::testing::ElementsAre(-5, -12));
  }
}

TEST(LifetimeTest, AnInputLeftOutTakesItsDefaultEveryTime) {
  GraphBuilder builder;
  Value* x = builder.Input("x", DataType::kFloat, {2});
  Value* y = builder.Op("Neg", {x});
  std::unique_ptr<Graph> graph = builder.Output(y).Build().value();
  graph->SetDefault(x, Make<float>({2}, {1, 2}));
  const auto plan = exec::Plan::Make(*graph, exec::KernelOptions{}).value();
  for (const bool given : {false, true, false}) {
    const std::vector<Tensor> inputs = {given ? Make<float>({2}, {3, 4}) : Tensor()};
    std::vector<Tensor> outputs;
    Interrupt never;
    ASSERT_TRUE(exec::Execute(*plan, inputs, {{}, never, Allocator::Heap()}, outputs).ok());
    EXPECT_EQ(Floats(outputs[0])[0], given ? -3 : -1);
  }
}

// Adds a node that reads random earlier values of shape [3,3]. Some operators work in place, some
// return views.
Value* AddRandomNode(GraphBuilder& b, const std::vector<Value*>& values, std::mt19937& generator) {
  const auto any = [&] { return values[generator() % values.size()]; };
  const std::vector<std::string> unary = {"Neg", "Abs", "Relu", "Sigmoid", "Identity", "Transpose"};
  const std::vector<std::string> binary = {"Add", "Sub", "Mul", "Max", "MatMul"};
  const size_t choice = generator() % 12;
  if (choice < unary.size()) return b.Op(unary[choice], {any()});
  if (choice < 11) return b.Op(binary[choice - unary.size()], {any(), any()});
  return b.Op("Softmax", {any()}, {{"axis", static_cast<int64_t>(generator() % 2)}});
}

// If every value is a graph output, no value may be overwritten. Those results are the expected
// ones for the same graph with few outputs.
TEST(LifetimeTest, OverwritingChangesNoValueThatIsReadLater) {
  std::mt19937 generator(Seed());
  for (int round = 0; round < 200; ++round) {
    const uint32_t seed = generator();
    std::vector<bool> kept;
    const auto build = [&](GraphBuilder& b, bool all) {
      std::mt19937 local(seed);
      std::vector<Value*> values = {b.Input("x", DataType::kFloat, {3, 3}),
                                    b.Input("y", DataType::kFloat, {3, 3})};
      for (int i = 0; i < 16; ++i) values.push_back(AddRandomNode(b, values, local));
      kept.assign(values.size(), true);
      for (size_t i = 0; i < values.size(); ++i) {
        if (!all) kept[i] = local() % 4 == 0 || i + 1 == values.size();
        if (kept[i]) b.Output(values[i]);
      }
    };
    const std::vector<Tensor> inputs = {RandomFloats({3, 3}, generator),
                                        RandomFloats({3, 3}, generator)};
    const PlanTester everything([&](GraphBuilder& b) { build(b, true); });
    const PlanTester few([&](GraphBuilder& b) { build(b, false); });
    const auto expected = everything.Run(inputs).value();
    const auto actual = few.Run(inputs).value();
    size_t next = 0;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) ExpectClose(actual[next++], expected[i], 0);
    }
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(LifetimeTest, ResultsOutliveLaterRunsOnTheSamePool) {
  const PlanTester plan([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"n"});
    b.Output(b.Op("Abs", {b.Op("Exp", {x})})).Output(b.Op("Neg", {x}));
  });
  exec::PoolAllocator pool(Allocator::Heap());
  const std::vector<float> ones(1000, 1);
  const std::vector<float> twos(1000, 2);
  const auto first = plan.Run({Make<float>({1000}, ones)}, {}, pool).value();
  const std::vector<float> before = Floats(first[0]);
  const auto second = plan.Run({Make<float>({1000}, twos)}, {}, pool).value();
  EXPECT_EQ(Floats(first[0]), before);
  EXPECT_EQ(Floats(first[1])[999], -1);
  EXPECT_EQ(Floats(second[1])[999], -2);
}

}  // namespace
}  // namespace attnrun::testing
