// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "execution/executor.h"
#include "execution/plan.h"
#include "ops/linear/float_linear.h"
#include "optimizer/rules/linear/linear_parts.h"
#include "support/attention_graph.h"

// Projections of one input that become one Linear.
namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Weight(int seed, const std::vector<int64_t>& shape = {8, 8}) {
  std::mt19937 generator(seed);
  return RandomFloats(shape, generator, 0.35F);
}

Value* Attend(GraphBuilder& b, Value* q, Value* k, Value* v) {
  Value* scores = b.Op("MatMul", {Heads(b, q), Heads(b, k, /*transposed=*/true)});
  Value* y = b.Op("MatMul", {b.Op("Softmax", {scores}), Heads(b, v)});
  y = b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  return b.Op("Reshape", {y, b.Constant<int64_t>("joined", {3}, {0, 0, 8})});
}

// An attention of x whose projections have these weights [8, 8].
Value* Layer(GraphBuilder& b, Value* x, const std::vector<Value*>& weights) {
  const auto project = [&](int i) { return b.Op("MatMul", {x, weights[i]}); };
  return Attend(b, project(0), project(1), project(2));
}

std::vector<Value*> Constants(GraphBuilder& b, const std::vector<Tensor>& tensors) {
  std::vector<Value*> values;
  values.reserve(tensors.size());
  for (const Tensor& tensor : tensors) values.push_back(b.Constant("w", tensor));
  return values;
}

std::vector<const Node*> Linears(const Graph& graph) {
  std::vector<const Node*> linears;
  for (const Node* node : graph.nodes()) {
    if (node->qualified_op_type() == "attnrun.Linear") linears.push_back(node);
  }
  return linears;
}

// The addresses of the weights of a Linear.
std::vector<const void*> Bytes(const Node& linear) {
  std::vector<const void*> bytes;
  for (const opt::LinearWeightParts& weight : opt::LinearParts::Of(linear).weights) {
    bytes.push_back(weight.values->constant()->raw());
  }
  return bytes;
}

TEST(MergeTest, TheMergedLinearReadsTheOriginals) {
  const std::vector<Tensor> weights = {Weight(1), Weight(2), Weight(3)};
  const OptimizerTester test(
      [&](GraphBuilder& b) { b.Output(Layer(b, Input(b, "x"), Constants(b, weights))); });
  EXPECT_EQ(test.Ops(), "attnrun.Attention attnrun.Linear");
  EXPECT_THAT(Bytes(*Linears(test.graph())[0]),
              ElementsAre(weights[0].raw(), weights[1].raw(), weights[2].raw()));
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(MergeTest, WeightsMayBeTransposedAndSomeBiasesMissing) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"rows", 8});
    Value* q =
        b.Op("Gemm", {x, b.Constant("w", Weight(1, {12, 8})), b.Constant("b", Weight(4, {12}))},
             {{"transB", int64_t{1}}});
    Value* k = b.Op("MatMul", {x, b.Constant("w", Weight(2, {8, 12}))});
    b.Output(b.Op("MatMul", {q, b.Op("Transpose", {k})}));
  });
  EXPECT_EQ(test.Applied("qkv_projection"), 1);
  const std::vector<const Node*> linears = Linears(test.graph());
  ASSERT_EQ(linears.size(), 1);
  EXPECT_THAT(std::get<std::vector<int64_t>>(*linears[0]->attribute(ops::FloatLinear::kTransposed)),
              ElementsAre(1, 0));
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(MergeTest, AResidualDoesNotDisplaceAWeight) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"rows", 8});
    Value* residual = b.Input("residual", DataType::kFloat, {"rows", 20});
    Value* merged = b.Op("attnrun::Linear", {x, b.Constant("w", Weight(1, {8, 12})), nullptr,
                                             nullptr, b.Constant("w", Weight(2, {8, 8}))});
    b.Output(b.Op("Add", {merged, residual}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Linear");
  test.ExpectSameResults(kAttentionTolerance);
}

// LoRA of rank 2 beside q and v: the products of x are merged, the products of the narrow rows are
// not.
TEST(MergeTest, TheFirstOfALowRankPairJoins) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = Input(b, "x");
    const auto project = [&](int seed, bool adapted) {
      Value* y = b.Op("MatMul", {x, b.Constant("w", Weight(seed))});
      if (!adapted) return y;
      Value* narrow = b.Op("MatMul", {x, b.Constant("down", Weight(seed + 1, {8, 2}))});
      narrow = b.Op("Mul", {narrow, Number(b, 2)});
      return b.Op("Add", {y, b.Op("MatMul", {narrow, b.Constant("up", Weight(seed + 2, {2, 8}))})});
    };
    b.Output(Attend(b, project(1, true), project(4, false), project(5, true)));
  });
  EXPECT_EQ(test.Applied("qkv_projection"), 1);
  EXPECT_EQ(test.Count("attnrun.Linear"), 3);
  EXPECT_EQ(Bytes(*Linears(test.graph())[0]).size(), 5U);
  test.ExpectSameResults(4 * kAttentionTolerance);
}

// Keys and values are computed from latents, as in DeepSeek.
TEST(MergeTest, LatentsJoinTheQueries) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = Input(b, "x");
    Value* latents = b.Op("MatMul", {x, b.Constant("down", Weight(1, {8, 4}))});
    latents = b.Op("LayerNormalization", {latents, b.Constant("scale", Weight(2, {4}))});
    const auto up = [&](int seed) {
      return b.Op("MatMul", {latents, b.Constant("up", Weight(seed, {4, 8}))});
    };
    b.Output(Attend(b, b.Op("MatMul", {x, b.Constant("q", Weight(3))}), up(4), up(5)));
  });
  EXPECT_EQ(test.Applied("qkv_projection"), 2);
  EXPECT_EQ(test.Count("attnrun.Linear"), 2);
  test.ExpectSameResults(4 * kAttentionTolerance);
}

TEST(MergeTest, ProductsAddedBeforeTheProjectionsStay) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = Input(b, "x");
    const auto by = [&](Value* value, int seed) {
      return b.Op("MatMul", {value, b.Constant("w", Weight(seed))});
    };
    Value* sum = b.Op("Add", {by(x, 1), b.Op("Relu", {by(x, 2)})});
    b.Output(Layer(b, sum, Constants(b, {Weight(3), Weight(4), Weight(5)})));
  });
  EXPECT_EQ(test.Applied("qkv_projection"), 1);
  EXPECT_EQ(test.Count("attnrun.Linear"), 3);
  test.ExpectSameResults(16 * kAttentionTolerance);
}

// Gate and up merge, whichever elementwise operators make the gate.
TEST(MergeTest, GateAndUpMergeBehindAnyActivation) {
  for (const char* activation : {"Mish", "HardSwish", "Softplus", "Elu", "Neg"}) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* x = Input(b, "x");
      Value* gate = b.Op("MatMul", {x, b.Constant("gate", Weight(1))});
      Value* up = b.Op("MatMul", {x, b.Constant("up", Weight(2))});
      b.Output(b.Op("Mul", {b.Op(activation, {gate}), up}));
    });
    EXPECT_EQ(test.Applied("sibling_projection"), 1) << activation;
    EXPECT_EQ(test.Count("attnrun.Linear"), 1) << activation;
    test.ExpectSameResults(4 * kAttentionTolerance);
  }
}

// A softmax is not elementwise, and a gate of two products has no single projection.
TEST(MergeTest, OtherGatesStay) {
  for (const bool softmax : {true, false}) {
    const OptimizerTester test([&](GraphBuilder& b) {
      Value* x = Input(b, "x");
      Value* gate = b.Op("MatMul", {x, b.Constant("gate", Weight(1))});
      Value* up = b.Op("MatMul", {x, b.Constant("up", Weight(2))});
      Value* other = b.Op("MatMul", {x, b.Constant("other", Weight(3))});
      gate = softmax ? b.Op("Softmax", {gate}) : b.Op("Max", {gate, other});
      b.Output(b.Op("Mul", {gate, up}));
    });
    EXPECT_EQ(test.Applied("sibling_projection"), 0);
  }
}

TEST(MergeTest, LayersWithTheSameWeightsMergeAlike) {
  const OptimizerTester test([](GraphBuilder& b) {
    const std::vector<Value*> weights = Constants(b, {Weight(1), Weight(2), Weight(3)});
    b.Output(Layer(b, b.Op("Tanh", {Layer(b, Input(b, "x"), weights)}), weights));
  });
  EXPECT_EQ(test.Applied("qkv_projection"), 2);
  const std::vector<const Node*> linears = Linears(test.graph());
  ASSERT_EQ(linears.size(), 2);
  EXPECT_EQ(Bytes(*linears[0]), Bytes(*linears[1]));
  test.ExpectSameResults(2 * kAttentionTolerance);
}

TEST(MergeTest, AWeightWithOtherReadersStays) {
  const OptimizerTester test([](GraphBuilder& b) {
    const std::vector<Value*> weights = Constants(b, {Weight(1), Weight(2), Weight(3)});
    b.Output(Layer(b, Input(b, "x"), weights));
    b.Output(b.Op("MatMul", {Input(b, "other"), weights[1]}));
  });
  EXPECT_EQ(test.Applied("qkv_projection"), 0);
  EXPECT_EQ(test.Count("attnrun.Linear"), 4);
  ASSERT_FALSE(test.Misses("qkv_projection").empty());
  EXPECT_THAT(test.Misses("qkv_projection")[0], HasSubstr("would have to be packed twice"));
}

// The error of running the optimized graph with one input [1, 3, 8].
std::string Failure(GraphBuilder& b) {
  const std::unique_ptr<Graph> graph = b.Build().value();
  EXPECT_TRUE(opt::Optimize(*graph, {}).ok());
  const auto plan = exec::Plan::Make(*graph, exec::KernelOptions{}).value();
  std::vector<Tensor> outputs;
  std::mt19937 generator(1);
  Interrupt never;
  return std::string(exec::Execute(*plan, {RandomFloats({1, 3, 8}, generator)},
                                   {{}, never, Allocator::Heap()}, outputs)
                         .message());
}

TEST(MergeTest, WeightsOfDifferentHeightsFailWhenTheyRun) {
  GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat);
  const auto project = [&](int seed, int64_t rows) {
    return b.Op("MatMul", {x, b.Constant("w", Weight(seed, {rows, 8}))});
  };
  b.Output(Attend(b, project(1, 8), project(2, 7), project(3, 8)));
  EXPECT_THAT(Failure(b), HasSubstr("K is 8 in X[1,3,8], but 7 in W0[7,8]"));
}

// Side by side these biases would not match their columns, and one would not fit its space.
TEST(MergeTest, BiasesOfOtherLengthsFailWhenTheyRun) {
  for (const int64_t length : {7, 4096}) {
    GraphBuilder b;
    Value* x = b.Input("x", DataType::kFloat);
    const auto project = [&](int seed, int64_t columns) {
      return b.Op("attnrun::Linear",
                  {x, b.Constant("w", Weight(seed)), b.Constant("b", Weight(seed + 3, {columns}))});
    };
    b.Output(Attend(b, project(1, 8), project(2, length), project(3, 8)));
    EXPECT_THAT(Failure(b), HasSubstr(absl::StrCat(length)));
  }
}

}  // namespace
}  // namespace attnrun::testing
