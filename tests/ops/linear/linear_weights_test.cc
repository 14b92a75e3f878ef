// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "ops/interface/registry.h"
#include "support/op_tester.h"

// Linear with several weights side by side.
namespace attnrun::testing {
namespace {

using Dims = std::vector<int64_t>;

OpTester LinearTester() { return OpTester("Linear", 1, "attnrun"); }

TEST(LinearWeightsTest, ColumnsOfLaterWeightsFollow) {
  OpTester op = LinearTester();
  op.Attribute("trans_w", Dims{0, 1});
  op.Input(Make<float>({2, 2}, {1, 2, 3, 4}));
  // The columns are (1, 0); (0, 1) and (1, 1); (2, 0).
  op.Input(Make<float>({2, 1}, {1, 0})).Input(Make<float>({4}, {0, 10, 0, 0.5}));
  op.Input(Make<float>({2, 1}, {100, 200}));
  op.Input(Make<float>({2, 2}, {0, 1, 1, 1})).Input(Make<float>({2, 1}, {2, 0}));
  ExpectClose(op.Reference().value()[0],
              Make<float>({2, 4}, {101, 112, 103, 102.5, 203, 214, 207, 206.5}), 0);
}

// Weights whose columns begin and end within panels, one without columns, stored transposed and
// not.
struct Weights {
  explicit Weights(std::mt19937& generator) {
    for (const int64_t columns : {5, 130, 0, 1, 77}) {
      transposed.push_back(static_cast<int64_t>(parts.size() % 2));
      parts.push_back(
          RandomFloats(transposed.back() != 0 ? Dims{columns, k} : Dims{k, columns}, generator));
      for (int64_t i = 0; i < k; ++i) rows[i].resize(n + columns);
      for (int64_t i = 0; i < k * columns; ++i) {
        const int64_t row = transposed.back() != 0 ? i % k : i / columns;
        const int64_t column = transposed.back() != 0 ? i / k : i % columns;
        rows[row][n + column] = parts.back().data<float>()[i];
      }
      n += columns;
    }
  }
  Tensor Whole() const {
    std::vector<float> all;
    for (const std::vector<float>& row : rows) all.insert(all.end(), row.begin(), row.end());
    return Make<float>({k, n}, all);
  }

  static constexpr int64_t k = 90;
  int64_t n = 0;
  std::vector<int64_t> transposed;
  std::vector<Tensor> parts;
  std::array<std::vector<float>, k> rows;
};

TEST(LinearWeightsTest, WeightsSideBySideHaveTheSameBitsAsOneWeight) {
  std::mt19937 generator(Seed());
  const Weights weights(generator);
  const Tensor bias = RandomFloats({weights.n}, generator);
  for (const int64_t rows : {1, 5, 64}) {
    const Tensor x = RandomFloats({rows, Weights::k}, generator);
    OpTester one = LinearTester();
    one.Input(x).Constant(weights.Whole()).Input(bias);
    const Tensor expected = one.Kernel().value()[0];
    for (const bool constant : {false, true}) {
      OpTester several = LinearTester();
      several.Attribute("trans_w", weights.transposed).Input(x);
      const auto add = [&](const Tensor& w) { constant ? several.Constant(w) : several.Input(w); };
      add(weights.parts[0]);
      several.Input(bias).NoInput();
      for (size_t i = 1; i < weights.parts.size(); ++i) add(weights.parts[i]);
      const Tensor actual = several.Kernel().value()[0];
      ASSERT_EQ(actual.shape(), expected.shape());
      EXPECT_EQ(std::memcmp(actual.raw(), expected.raw(), expected.byte_size()), 0);
      ExpectClose(several.Reference().value()[0], one.Reference().value()[0], 0);
    }
  }
}

// k roundings of partial sums of order sqrt(k) add up like a random walk.
double Tolerance(int64_t k) { return kEpsilon + 2 * kEpsilon * static_cast<double>(k); }

TEST(LinearWeightsTest, WeightsSideBySideMayDifferInType) {
  std::mt19937 generator(Seed());
  OpTester op = LinearTester();
  op.Input(RandomFloats({7, 40}, generator));
  op.Constant(Converted(RandomFloats({40, 9}, generator), DataType::kFloat16)).NoInput().NoInput();
  op.Constant(RandomFloats({40, 60}, generator));
  ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], Tolerance(40));
}

TEST(LinearWeightsTest, InferAddsTheirColumns) {
  Graph graph;
  NodeSpec spec;
  spec.domain = "attnrun";
  spec.op_type = "Linear";
  spec.opset = 1;
  spec.attributes["trans_w"] = Dims{0, 1};
  const auto input = [&](const char* name) { return graph.AddInput(name, {}).value(); };
  spec.inputs = {input("x"), input("w0"), nullptr, nullptr, input("w1"), input("w2")};
  const Node* node = graph.AddNode(std::move(spec), {"y"}).value();
  const auto op = ops::OpRegistry::Get().Create(*node).value();
  const auto floats = [](std::vector<SymInt> dims) {
    return ops::ValueFacts{DataType::kFloat, std::move(dims), std::nullopt};
  };
  const ops::ValueFacts x = floats({7, 4});
  const ops::ValueFacts w0 = floats({4, 5});
  const ops::ValueFacts w1 = floats({SymInt::Symbol("n"), 4});
  const ops::ValueFacts w2 = floats({4, 2});
  const Tensor* constants[6] = {};
  const auto columns = [&](const ops::ValueFacts& last) {
    const ops::ValueFacts* inputs[] = {&x, &w0, nullptr, nullptr, &w1, &last};
    ops::ValueFacts y;
    ops::InferContext context(inputs, constants, absl::MakeSpan(&y, 1));
    op->Infer(context);
    return y.dims->back();
  };
  EXPECT_EQ(columns(w2), SymInt::Symbol("n") + SymInt(7));
  EXPECT_FALSE(columns(ops::ValueFacts()).constant().has_value());
}

}  // namespace
}  // namespace attnrun::testing
