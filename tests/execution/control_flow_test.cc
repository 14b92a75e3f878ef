// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elements.h"
#include "support/op_tester.h"
#include "support/plan_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> Numbers(const Tensor& tensor) {
  return ToDoubles(tensor.Dense().value()).value();
}

Tensor Scalar(float value) { return Make<float>({}, {value}); }

class ControlFlowTest : public ::testing::TestWithParam<bool> {
 protected:
  // Runs the graph that `build` makes and returns its outputs.
  static std::vector<Tensor> Run(const PlanTester::Build& build,
                                 const std::vector<Tensor>& inputs) {
    return PlanTester(build, GetParam()).Run(inputs).value();
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, ControlFlowTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Kernels" : "Reference"; });

// The branches return a captured value, a constant and the result of a node.
void BuildIf(GraphBuilder& b) {
  Value* condition = b.Input("condition", DataType::kBool, {});
  Value* r = b.Op("Relu", {b.Input("x", DataType::kFloat, {"n"})});
  const auto then_branch = Subgraph([&](GraphBuilder& inner) {
    Value* captured = inner.Capture(r);
    inner.Output(captured).Output(inner.Op("Neg", {captured}));
  });
  const auto else_branch = Subgraph([&](GraphBuilder& inner) {
    inner.Output(inner.Constant<float>("seven", {1}, {7}));
    inner.Output(inner.Op("Exp", {inner.Capture(r)}));
  });
  const auto outputs =
      b.Ops("If", 2, {condition}, {{"then_branch", then_branch}, {"else_branch", else_branch}});
  // Neg may run in place where that is allowed; here its input is the captured value or the
  // constant.
  b.Output(b.Op("Neg", {outputs[0]})).Output(outputs[0]).Output(outputs[1]).Output(r);
}

TEST_P(ControlFlowTest, IfReturnsCapturesConstantsAndComputedValues) {
  const Tensor x = Make<float>({2}, {0, 3});
  const PlanTester plan(BuildIf, GetParam());
  for (int repeat = 0; repeat < 2; ++repeat) {  // run twice: the constant must stay unchanged
    const auto taken = plan.Run({MakeBool({}, {1}), x}).value();
    EXPECT_THAT(Numbers(taken[0]), ElementsAre(0, -3));
    EXPECT_THAT(Numbers(taken[1]), ElementsAre(0, 3));
    EXPECT_THAT(Numbers(taken[2]), ElementsAre(0, -3));
    EXPECT_THAT(Numbers(taken[3]), ElementsAre(0, 3));
    const auto other = plan.Run({MakeBool({}, {0}), x}).value();
    EXPECT_THAT(Numbers(other[0]), ElementsAre(-7));
    EXPECT_THAT(Numbers(other[1]), ElementsAre(7));
  }
}

TEST_P(ControlFlowTest, CapturesReachThroughTwoGraphs) {
  const auto build = [](GraphBuilder& b) {
    Value* condition = b.Input("condition", DataType::kBool, {});
    Value* x = b.Input("x", DataType::kFloat, {});
    const auto branch = [&](const std::string& op) {
      return Subgraph([&](GraphBuilder& outer) {
        Value* x_outer = outer.Capture(x);
        const auto leaf = Subgraph(
            [&](GraphBuilder& inner) { inner.Output(inner.Op(op, {inner.Capture(x_outer)})); });
        outer.Output(outer.Op("If", {outer.Capture(condition)},
                              {{"then_branch", leaf}, {"else_branch", leaf}}));
      });
    };
    b.Output(
        b.Op("If", {condition}, {{"then_branch", branch("Neg")}, {"else_branch", branch("Abs")}}));
  };
  EXPECT_THAT(Numbers(Run(build, {MakeBool({}, {1}), Scalar(-2)})[0]), ElementsAre(2));
  EXPECT_THAT(Numbers(Run(build, {MakeBool({}, {0}), Scalar(-5)})[0]), ElementsAre(5));
}

// Returns the sum, the carried second value and all partial sums. The body also captures the start
// value from outside.
void BuildLoop(GraphBuilder& b) {
  Value* limit = b.Input("limit", DataType::kInt64, {});
  Value* start = b.Op("Neg", {b.Input("x", DataType::kFloat, {1})});
  const auto body = Subgraph([&](GraphBuilder& inner) {
    inner.Input("iteration", DataType::kInt64, {});
    inner.Input("condition", DataType::kBool, {});
    Value* first = inner.Input("first", DataType::kFloat, {1});
    Value* second = inner.Input("second", DataType::kFloat, {1});
    Value* sum = inner.Op("Add", {first, inner.Capture(start)});
    inner.Output(inner.Op("Less", {sum, inner.Constant<float>("bound", {}, {10})}));
    inner.Output(second).Output(sum).Output(first);
  });
  for (Value* value : b.Ops("Loop", 3, {limit, nullptr, start, start}, {{"body", body}})) {
    b.Output(value);
  }
}

TEST_P(ControlFlowTest, LoopCarriesSwapsCapturesAndStacks) {
  const auto outputs = Run(BuildLoop, {Make<int64_t>({}, {4}), Make<float>({1}, {-2})});
  // The carried pairs are (2,2) (2,4) (4,4) (4,6) (6,6). The first of each pair is stacked; the sum
  // becomes the second.
  EXPECT_THAT(Numbers(outputs[0]), ElementsAre(6));
  EXPECT_THAT(Numbers(outputs[1]), ElementsAre(6));
  EXPECT_THAT(Numbers(outputs[2]), ElementsAre(2, 2, 4, 4));
  EXPECT_EQ(outputs[2].shape(), Shape({4, 1}));
}

TEST_P(ControlFlowTest, LoopEndsAtItsLimitOrCondition) {
  const auto none = Run(BuildLoop, {Make<int64_t>({}, {0}), Make<float>({1}, {-2})});
  EXPECT_THAT(Numbers(none[0]), ElementsAre(2));
  EXPECT_EQ(none[2].num_elements(), 0);
  const auto many = Run(BuildLoop, {Make<int64_t>({}, {1000}), Make<float>({1}, {-2})});
  // The sum reaches 10 in the seventh iteration.
  EXPECT_EQ(many[2].num_elements(), 7);
  EXPECT_THAT(Numbers(many[1]), ElementsAre(10));
}

TEST_P(ControlFlowTest, ScanKeepsStateAlongItsAxisAndDirection) {
  const auto build = [](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {2, 3});
    const auto body = Subgraph([](GraphBuilder& inner) {
      Value* state = inner.Input("state", DataType::kFloat, {2});
      Value* sum = inner.Op("Add", {state, inner.Input("slice", DataType::kFloat, {2})});
      inner.Output(sum).Output(sum);
    });
    Value* zeros = b.Constant<float>("zeros", {2}, {0, 0});
    for (Value* value : b.Ops("Scan", 2, {zeros, x},
                              {{"body", body},
                               {"num_scan_inputs", int64_t{1}},
                               {"scan_input_axes", std::vector<int64_t>{1}},
                               {"scan_input_directions", std::vector<int64_t>{1}},
                               {"scan_output_axes", std::vector<int64_t>{1}}})) {
      b.Output(value);
    }
  };
  const auto outputs = Run(build, {Make<float>({2, 3}, {1, 2, 3, 10, 20, 30})});
  EXPECT_THAT(Numbers(outputs[0]), ElementsAre(6, 60));
  EXPECT_EQ(outputs[1].shape(), Shape({2, 3}));
  EXPECT_THAT(Numbers(outputs[1]), ElementsAre(3, 5, 6, 30, 50, 60));
}

TEST_P(ControlFlowTest, SlicesOfATensorAreStackedUnchanged) {
  const auto build = [](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {2, 4});
    const auto body = Subgraph([](GraphBuilder& inner) {
      inner.Input("iteration", DataType::kInt64, {});
      inner.Output(inner.Op("Identity", {inner.Input("condition", DataType::kBool, {})}));
      Value* carried = inner.Input("carried", DataType::kFloat, {2, 4});
      Value* sizes = inner.Constant<int64_t>("sizes", {2}, {1, 3});
      const auto pieces = inner.Ops("Split", 2, {carried, sizes}, {{"axis", int64_t{1}}});
      inner.Output(inner.Op("Neg", {carried})).Output(pieces[0]);
    });
    Value* twice = b.Constant<int64_t>("twice", {}, {2});
    b.Output(b.Ops("Loop", 2, {twice, nullptr, x}, {{"body", body}})[1]);
  };
  const auto outputs = Run(build, {Make<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})});
  EXPECT_EQ(outputs[0].shape(), Shape({2, 2, 1}));
  EXPECT_THAT(Numbers(outputs[0]), ElementsAre(1, 5, -1, -5));
}

TEST_P(ControlFlowTest, AMissingCarriedValueIsAnError) {
  const PlanTester plan(
      [](GraphBuilder& b) {
        const auto body = Subgraph([](GraphBuilder& inner) {
          inner.Input("iteration", DataType::kInt64, {});
          Value* condition = inner.Input("condition", DataType::kBool, {});
          inner.Output(condition).Output(inner.Op("Neg", {inner.Input("v", DataType::kFloat)}));
        });
        b.Output(b.Op("Loop", {b.Constant<int64_t>("one", {}, {1}), nullptr, nullptr},
                      {{"body", body}}));
      },
      GetParam());
  const absl::Status status = plan.Run({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("input 'v' is left out"));
}

TEST_P(ControlFlowTest, ErrorsNameTheNodeAndItsEnclosingNode) {
  const auto build = [](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat);
    const auto branch = Subgraph([&](GraphBuilder& inner) {
      inner.Output(inner.Op("Add", {inner.Capture(x), inner.Constant<float>("w", {2}, {1, 2})}));
    });
    b.Output(b.Op("If", {b.Constant<bool>("true", {}, {true})},
                  {{"then_branch", branch}, {"else_branch", branch}}));
  };
  const PlanTester plan(build, GetParam());
  const absl::Status status = plan.Run({Make<float>({3}, {1, 2, 3})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("(If): node '"), HasSubstr("(Add): ")));
}

}  // namespace
}  // namespace attnrun::testing
