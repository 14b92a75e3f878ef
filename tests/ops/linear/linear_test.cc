// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/parallel.h"
#include "ops/gemm/activation.h"
#include "ops/interface/registry.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

OpTester LinearTester() { return OpTester("Linear", 1, "attnrun"); }

TEST(LinearReferenceTest, ActivatesBetweenBiasAndResidual) {
  for (const bool transposed : {false, true}) {
    OpTester op = LinearTester();
    op.Attribute("trans_w", Dims{transposed}).Attribute("activation", std::string("Relu"));
    op.Input(Make<float>({1, 2, 2}, {1, 2, 3, 4}));
    // The columns are (1, 0), (0, 1) and (1, 1).
    op.Input(transposed ? Make<float>({3, 2}, {1, 0, 0, 1, 1, 1})
                        : Make<float>({2, 3}, {1, 0, 1, 0, 1, 1}));
    op.Input(Make<float>({3}, {0, -3, 10})).Input(Make<float>({2, 1}, {100, 200}));
    ExpectClose(op.Reference().value()[0], Make<float>({1, 2, 3}, {101, 100, 113, 203, 201, 217}),
                0);
  }
}

TEST(LinearReferenceTest, Activations) {
  // The formulas at x = 1.5.
  const double x = 1.5;
  const std::pair<const char*, double> cases[] = {
      {"", x},
      {"Relu", x},
      {"Gelu", x * (1 + std::erf(x / std::sqrt(2.0))) / 2},
      {"GeluTanh",
       x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2},
      {"QuickGelu", x / (1 + std::exp(-static_cast<double>(1.702F) * x))},
      {"Silu", x / (1 + std::exp(-x))},
      {"Tanh", std::tanh(x)},
      {"Sigmoid", 1 / (1 + std::exp(-x))},
  };
  for (const auto& [name, expected] : cases) {
    OpTester op = LinearTester();
    op.Attribute("activation", std::string(name));
    op.Input(Make<double>({1}, {3})).Input(Make<double>({1, 1}, {0.5}));
    ExpectClose(op.Reference().value()[0], Make<double>({1}, {expected}),
                4 * Epsilon(DataType::kDouble));
  }
}

TEST(LinearReferenceTest, ErrorsSayWhatIsWrong) {
  const auto floats = [](const Dims& dims) {
    return Make<float>(dims, std::vector<float>(NumElements(dims).value()));
  };
  struct Wrong {
    std::vector<Tensor> inputs;
    const char* message;
  };
  const Wrong cases[] = {
      {{floats({}), floats({2, 3})}, "X is float[] and W0 is float[2,3]"},
      {{floats({2}), floats({2})}, "X is float[2] and W0 is float[2]"},
      {{floats({4, 3}), floats({2, 3})}, "K is 3 in X[4,3], but 2 in W0[2,3]"},
      {{floats({4, 2}), floats({2, 3}), {}, {}, floats({2, 1}), floats({3, 5})},
       "K is 2 in X[4,2], but 3 in W2[3,5]"},
      {{floats({4, 2}), floats({2, 3}), {}, {}, {}, floats({2, 5})}, "W1 is undefined[]"},
      {{floats({4, 2}), floats({2, 3}), floats({3}), {}, floats({2, 1})},
       "expected bias of shape [4]"},
      {{floats({4, 2}), floats({2, 3}), floats({1, 3})}, "expected bias of shape [3]"},
      {{floats({4, 2}), floats({2, 3}), {}, floats({2, 4, 3})},
       "residual [2,4,3] does not broadcast to Y[4,3]"},
      {{floats({4, 2}), Make<int32_t>({2, 1}, {1, 1})}, "input 1 is int32[2,1]"},
  };
  for (const Wrong& c : cases) {
    OpTester op = LinearTester();
    for (const Tensor& input : c.inputs) op.Input(input);
    EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr(c.message));
    EXPECT_FALSE(op.Kernel().ok());
  }
  OpTester op = LinearTester();
  op.Attribute("activation", std::string("Selu")).Input(floats({1})).Input(floats({1, 1}));
  EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr("Selu"));
}

// As for MatMul: k roundings of partial sums of order sqrt(k) add up like a random walk. An
// activation's slope is at most 1.13 and its own error is a few units in the last place.
double Tolerance(DataType type, int64_t k) {
  return Epsilon(type) + 2 * kEpsilon * static_cast<double>(k + 4);
}

struct Case {
  Dims x;
  int64_t n;
  // Empty if there is no residual.
  std::vector<Dims> residual = {};
};

class LinearKernelTest : public ::testing::TestWithParam<Case> {};

TEST_P(LinearKernelTest, AgreesWithReference) {
  std::mt19937 generator(Seed());
  const Case& c = GetParam();
  int variant = 0;
  for (const auto& [activation, function] : ops::kActivations) {
    for (const bool constant : {false, true}) {
      for (const DataType type : {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16}) {
        ++variant;
        const bool transposed = variant % 2 == 0;
        const int64_t k = c.x.back();
        OpTester op = LinearTester();
        op.Attribute("activation", std::string(activation));
        op.Attribute("trans_w", Dims{transposed});
        op.Input(Converted(RandomFloats(c.x, generator), type));
        const Tensor weight =
            Converted(RandomFloats(transposed ? Dims{c.n, k} : Dims{k, c.n}, generator), type);
        constant ? op.Constant(weight) : op.Input(weight);
        variant % 3 == 0 ? op.NoInput() : op.Input(Converted(RandomFloats({c.n}, generator), type));
        for (const Dims& residual : c.residual) {
          op.Input(Converted(RandomFloats(residual, generator), type));
        }
        SCOPED_TRACE(activation);
        SCOPED_TRACE(TypeAndShape(weight));
        const auto kernel = op.Kernel();
        ASSERT_TRUE(kernel.ok()) << kernel.status();
        ExpectClose((*kernel)[0], op.Reference().value()[0], Tolerance(type, k));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, LinearKernelTest,
    ::testing::Values(Case{{5}, 7}, Case{{64}, 130, {{130}}}, Case{{1, 384}, 33, {{1}}},
                      Case{{13, 400}, 65, {{13, 65}}}, Case{{37, 17}, 100, {{37, 1}}},
                      Case{{300, 24}, 40, {{1, 40}}}, Case{{2, 3, 31}, 17, {{2, 3, 17}}},
                      Case{{2, 3, 31}, 17, {{3, 17}}}, Case{{2, 3, 31}, 17, {{2, 1, 17}}},
                      Case{{2, 3, 4, 16}, 48, {{2, 3, 4, 48}}}, Case{{2, 3, 4, 16}, 1, {{}}},
                      // Few columns.
                      Case{{2, 9, 33}, 1, {{2, 9, 1}}}, Case{{301, 50}, 3, {{301, 1}}},
                      Case{{16}, 4}, Case{{6, 1024}, 2, {{6, 2}}}, Case{{0, 20}, 2},
                      Case{{0, 3}, 4, {{0, 4}}}, Case{{2, 0}, 3, {{3}}}, Case{{2, 3}, 0}));

TEST(LinearKernelTest, BitsDoNotDependOnThreads) {
  std::mt19937 generator(Seed());
  const int threads = NumThreads();
  for (const auto& [activation, function] : ops::kActivations) {
    for (const int64_t n : {77, 3}) {
      OpTester op = LinearTester();
      op.Attribute("activation", std::string(activation));
      op.Input(RandomFloats({2, 45, 500}, generator)).Constant(RandomFloats({500, n}, generator));
      op.Input(RandomFloats({n}, generator)).Input(RandomFloats({2, 45, n}, generator));
      SetNumThreads(1);
      const Tensor one = op.Kernel().value()[0];
      SetNumThreads(2);
      const Tensor two = op.Kernel().value()[0];
      EXPECT_EQ(std::memcmp(one.raw(), two.raw(), one.byte_size()), 0) << activation;
    }
  }
  SetNumThreads(threads);
}

TEST(LinearKernelTest, InputsMayBeViews) {
  std::mt19937 generator(Seed());
  const Tensor wide = RandomFloats({4, 6, 50}, generator);
  // A slice of the last axis, every other row, exchanged axes, a strided last axis.
  const Tensor views[] = {
      wide.View({4, 6, 20}, {300, 50, 1}, 13), wide.View({4, 3, 20}, {300, 100, 1}, 0),
      wide.View({6, 4, 20}, {50, 300, 1}, 5), wide.View({4, 6, 20}, {300, 50, 2}, 1)};
  const Tensor weight = RandomFloats({20, 20}, generator);
  for (const Tensor& view : views) {
    OpTester op = LinearTester();
    op.Input(view).Constant(weight).NoInput().Input(view);
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], Tolerance(DataType::kFloat, 20));
  }
}

TEST(LinearInferTest, ReplacesTheLastExtent) {
  for (const bool transposed : {false, true}) {
    Graph graph;
    NodeSpec spec;
    spec.domain = "attnrun";
    spec.op_type = "Linear";
    spec.opset = 1;
    spec.attributes["trans_w"] = Dims{transposed};
    spec.inputs = {graph.AddInput("x", {}).value(), graph.AddInput("w", {}).value()};
    const Node* node = graph.AddNode(std::move(spec), {"y"}).value();
    const auto op = ops::OpRegistry::Get().Create(*node).value();
    const SymInt batch = SymInt::Symbol("batch");
    ops::ValueFacts x{DataType::kFloat16, std::vector<SymInt>{batch, 7, 4}, std::nullopt};
    ops::ValueFacts w{DataType::kFloat, std::vector<SymInt>{4, 5}, std::nullopt};
    if (transposed) std::swap((*w.dims)[0], (*w.dims)[1]);
    const ops::ValueFacts* inputs[] = {&x, &w};
    const Tensor* constants[] = {nullptr, nullptr};
    ops::ValueFacts y;
    ops::InferContext context(inputs, constants, absl::MakeSpan(&y, 1));
    op->Infer(context);
    EXPECT_EQ(y.type, DataType::kFloat16);
    EXPECT_EQ(y.dims, (std::vector<SymInt>{batch, 7, 5}));
  }
}

TEST(GatedActivationTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const auto& [activation, function] : ops::kActivations) {
    for (const DataType type : {DataType::kFloat, DataType::kBfloat16}) {
      OpTester op("GatedActivation", 1, "attnrun");
      op.Attribute("activation", std::string(activation)).Attribute("width", int64_t{1030});
      op.Attribute("gate", int64_t{1033}).Attribute("up", int64_t{2});
      op.Input(Converted(RandomFloats({3, 2, 2070}, generator), type));
      // An activation within a few epsilons, times numbers of up to five.
      const double tolerance = type == DataType::kFloat ? 40 * kEpsilon : 2 * Epsilon(type);
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], tolerance);
    }
  }
}

TEST(GatedActivationTest, ColumnsBeyondTheEndAreRefused) {
  OpTester op("GatedActivation", 1, "attnrun");
  op.Attribute("width", int64_t{3}).Attribute("gate", int64_t{0}).Attribute("up", int64_t{2});
  op.Input(Make<float>({1, 4}, {1, 2, 3, 4}));
  EXPECT_THAT(op.Reference().status().message(), HasSubstr("3 columns from 0 and from 2 on"));
  EXPECT_THAT(op.Kernel().status().message(), HasSubstr("3 columns from 0 and from 2 on"));
}

}  // namespace
}  // namespace attnrun::testing
