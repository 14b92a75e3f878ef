// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/elements.h"
#include "ops/interface/registry.h"
#include "support/fused_attention.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

void ExpectProbability(const OpTester& op, double second) {
  const auto outputs = op.Reference();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ExpectClose((*outputs)[0], Make<float>({1, 1, 1}, {static_cast<float>(2 + 2 * second)}),
              2 * kEpsilon);
  ExpectClose(
      (*outputs)[1],
      Make<float>({1, 1, 1, 2}, {static_cast<float>(1 - second), static_cast<float>(second)}),
      2 * kEpsilon);
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

TEST(FusedAttentionReferenceTest, ScoresFollowTheFormula) {
  ExpectProbability(TwoKeys(), Logistic(1));
  ExpectProbability(TwoKeys().Attribute("scale", 3.0F), Logistic(3));
  ExpectProbability(TwoKeys().Attribute("scale", 3.0F).Attribute("softcap", 2.0F),
                    Logistic(2 * std::tanh(1.5)));
  const Tensor bias = Make<float>({2}, {0.5F, 0});
  ExpectProbability(TwoKeys().Input(bias), Logistic(0.5));
  const Tensor first = MakeBool({2}, {1, 0});
  ExpectProbability(TwoKeys().NoInput().Input(first), 0);
  ExpectProbability(TwoKeys().Input(bias).Input(first).Attribute("mask_value", -1.0F),
                    Logistic(-1.5));
}

TEST(FusedAttentionReferenceTest, Positions) {
  ExpectProbability(TwoKeys().Attribute("causal", int64_t{1}), 0);
  ExpectProbability(TwoKeys().Attribute("causal", int64_t{2}), Logistic(1));
  ExpectProbability(TwoKeys().Attribute("right_window", int64_t{0}), 0);
  ExpectProbability(TwoKeys().Attribute("right_window", int64_t{1}), Logistic(1));
  ExpectProbability(TwoKeys().Attribute("causal", int64_t{2}).Attribute("left_window", int64_t{0}),
                    1);
}

TEST(FusedAttentionReferenceTest, FullyMaskedRowsFollowTheAttribute) {
  const Tensor none = MakeBool({1, 1}, {0});
  for (const OpTester& op :
       {TwoKeys().NoInput().Input(none), TwoKeys().Input(Make<float>({2}, {-kInf, -kInf}))}) {
    ExpectProbability(op, NAN);
    for (const char* row : {"zero", "guarded"}) {
      OpTester zero = op;
      const auto outputs = zero.Attribute("masked_row", std::string(row)).Reference().value();
      ExpectClose(outputs[0], Make<float>({1, 1, 1}, {0}), 0);
      ExpectClose(outputs[1], Make<float>({1, 1, 1, 2}, {0, 0}), 0);
    }
  }
  ExpectProbability(TwoKeys().NoInput().Input(none).Attribute("mask_value", -1e9F), 0.5);
}

TEST(FusedAttentionTest, RowsOfNaNAreGuardedIfAsked) {
  for (const float key : {NAN, kInf}) {
    OpTester op = WithLayouts("s h", "s h", "s h");
    op.Input(Make<float>({1, 1}, {key})).Input(Make<float>({2, 1}, {1, 1}));
    op.Input(Make<float>({2, 1}, {2, 4}));
    for (const int outputs : {1, 2}) {
      for (const char* row : {"nan", "zero", "guarded"}) {
        op.Outputs(outputs).Attribute("masked_row", std::string(row));
        const float expected = std::string(row) == "guarded" ? 0.0F : NAN;
        ExpectClose(op.Kernel().value()[0], Make<float>({1, 1, 1}, {expected}), 0);
        const auto reference = op.Reference().value();
        ExpectClose(reference[0], Make<float>({1, 1, 1}, {expected}), 0);
        if (outputs == 1) continue;
        ExpectClose(reference[1], Make<float>({1, 1, 1, 2}, {expected, expected}), 0);
        ExpectClose(op.Kernel().value()[1], reference[1], 0);
      }
    }
  }
}

TEST(FusedAttentionTest, ValuesThatAreNaNShowInGuardedRows) {
  std::mt19937 generator(Seed());
  for (const float value : {NAN, kInf}) {
    OpTester op = WithLayouts("s h", "s h", "s h");
    Tensor k = RandomFloats({100, 4}, generator);
    Tensor v = RandomFloats({100, 3}, generator);
    k.mutable_data<float>()[70 * 4] = NAN;
    v.mutable_data<float>()[70 * 3 + 1] = value;
    op.Input(RandomFloats({9, 4}, generator)).Input(k).Input(v);
    op.Attribute("masked_row", std::string("guarded"));
    for (const int outputs : {1, 2}) {
      op.Outputs(outputs);
      const auto reference = op.Reference().value();
      const auto rows = ToDoubles(reference[0]).value();
      EXPECT_EQ(rows[0], 0);
      EXPECT_TRUE(std::isnan(rows[1]));
      ExpectClose(op.Kernel().value()[0], reference[0], 0);
    }
  }
}

TEST(FusedAttentionReferenceTest, LayoutsDescribeTheSameHeads) {
  std::mt19937 generator(Seed());
  const Tensor packed = RandomFloats({2, 5, 3 * 4 * 8}, generator);
  const auto values = ToDoubles(packed).value();
  // Copies the heads of [B,S,3,N,H] to [B,N,S,H].
  const auto part = [&](int64_t index) {
    std::vector<float> heads;
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t n = 0; n < 4; ++n) {
        for (int64_t s = 0; s < 5; ++s) {
          for (int64_t h = 0; h < 8; ++h) {
            heads.push_back(
                static_cast<float>(values[(((b * 5 + s) * 3 + index) * 4 + n) * 8 + h]));
          }
        }
      }
    }
    return heads;
  };
  OpTester plain = WithLayouts("b n s h", "b n s h", "(b n:4) s h");
  plain.Input(Make<float>({2, 4, 5, 8}, part(0))).Input(Make<float>({2, 4, 5, 8}, part(1)));
  plain.Input(Make<float>({8, 5, 8}, part(2)));
  OpTester op = WithLayouts("b s (n:4 h:8)", "b s 32+(n:4 h:8)", "b s 64+(n:4 h:8)");
  op.Input(packed).Input(packed).Input(packed);
  ExpectClose(op.Reference().value()[0], plain.Reference().value()[0], 0);
  EXPECT_EQ(op.Reference().value()[0].shape(), (Shape{2, 5, 32}));
}

TEST(FusedAttentionReferenceTest, OneSampleBroadcastsToAll) {
  std::mt19937 generator(Seed());
  const Tensor one = RandomFloats({1, 2, 3, 4}, generator);
  const Tensor two = RandomFloats({2, 2, 3, 4}, generator);
  Tensor twice = Tensor::Allocate(DataType::kFloat, {2, 2, 3, 4}).value();
  for (int64_t i = 0; i < 48; ++i) twice.mutable_data<float>()[i] = one.data<float>()[i % 24];
  const auto run = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return AttentionTester().Input(q).Input(k).Input(v).Reference().value()[0];
  };
  ExpectClose(run(one, two, two), run(twice, two, two), 0);
  ExpectClose(run(two, one, two), run(two, twice, two), 0);
  ExpectClose(run(two, two, one), run(two, two, twice), 0);
  const Tensor mask = MakeBool({2, 1, 1, 3}, {1, 0, 1, 1, 1, 0});
  const auto masked = [&](const Tensor& x) {
    OpTester op = AttentionTester();
    return op.Input(x).Input(x).Input(x).NoInput().Input(mask).Reference().value()[0];
  };
  ExpectClose(masked(one), masked(twice), 0);
}

TEST(FusedAttentionReferenceTest, ErrorsSayWhatIsWrong) {
  const Tensor x = Make<float>({1, 2, 3, 4}, std::vector<float>(24));
  const auto message = [](const OpTester& op) {
    EXPECT_FALSE(op.Kernel().ok());
    return std::string(op.Reference().status().message());
  };
  const auto with = [&](const std::string& name, AttributeValue value) {
    OpTester op = AttentionTester();
    op.Attribute(name, std::move(value)).Input(x).Input(x).Input(x);
    return op;
  };
  EXPECT_EQ(message(with("k_layout", std::string("b n s"))),
            "k_layout: layout 'b n s' has 3 axes, but the shape is [1,2,3,4]");
  EXPECT_THAT(message(with("v_layout", std::string("b n s x"))), HasSubstr("v_layout: layout"));
  EXPECT_THAT(message(with("q_layout", std::string("b s n h"))), HasSubstr("multiple"));
  EXPECT_THAT(message(with("q_layout", std::string("n b s h"))), HasSubstr("multiple"));
  const Tensor two = Make<float>({2, 1, 3, 4}, std::vector<float>(24));
  const Tensor three = Make<float>({3, 1, 3, 4}, std::vector<float>(36));
  EXPECT_THAT(message(AttentionTester().Input(two).Input(three).Input(three)),
              HasSubstr("b is 2 and 3"));
  EXPECT_THAT(message(with("q_layout", std::string("b n h s"))),
              HasSubstr("h of q and k is 3 and 4"));
  EXPECT_THAT(message(with("causal", int64_t{3})), HasSubstr("but found 3, -1 and -1"));
  EXPECT_THAT(message(with("left_window", int64_t{-2})), HasSubstr("at least -1"));
  EXPECT_THAT(message(with("masked_row", std::string("one"))), HasSubstr("masked_row"));
  EXPECT_THAT(message(AttentionTester().Input(x).Input(x).Input(x).NoInput().Input(x)),
              HasSubstr("input 4 is float[1,2,3,4]"));
  EXPECT_THAT(message(AttentionTester().Input(x).Input(x).Input(x).Input(x)), HasSubstr("bias"));
  OpTester sinks = AttentionTester().Input(x).Input(x).Input(x).NoInput().NoInput();
  EXPECT_THAT(message(sinks.Input(Make<float>({2}, {0, 0}))), HasSubstr("sinks: "));
}

// A finite bias does not prove that a key is masked, because the key may hold NaN.
TEST(FusedAttentionTest, NaNBehindAFiniteBiasReachesTheResult) {
  constexpr int64_t kKeys = 400;
  std::vector<float> keys(kKeys, 1);
  std::vector<float> bias(kKeys, 0);
  for (int64_t t = 200; t < kKeys; ++t) bias[t] = -10000;
  keys[kKeys - 1] = NAN;
  OpTester op = WithLayouts("s h", "s h", "s h");
  op.Input(Make<float>({1, 1}, {1})).Input(Make<float>({kKeys, 1}, keys));
  op.Input(Make<float>({kKeys, 1}, std::vector<float>(kKeys, 1))).Input(Make<float>({kKeys}, bias));
  EXPECT_TRUE(std::isnan(op.Reference().value()[0].data<float>()[0]));
  EXPECT_TRUE(std::isnan(op.Kernel().value()[0].data<float>()[0]));
}

TEST(FusedAttentionTest, InputsMayBeViews) {
  std::mt19937 generator(Seed());
  const Tensor all = RandomFloats({2, 9, 3 * 24}, generator);
  const Tensor bias = RandomFloats({9, 20}, generator);
  OpTester op = WithLayouts("b s (n:3 h)", "s (n:3 h) b", "b s h");
  op.Input(all.View({2, 9, 24}, {648, 72, 1}, 0)).Input(all.View({9, 24, 2}, {72, 1, 648}, 24));
  op.Input(all.View({2, 9, 24}, {648, 72, 1}, 48)).Input(bias.View({9, 9}, {20, 1}, 3));
  const auto kernel = op.Kernel();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const Tensor expected = op.Reference().value()[0];
  ExpectClose((*kernel)[0], expected, AttentionTolerance(expected));
  EXPECT_EQ(expected.shape(), (Shape{2, 9, 3 * 24}));
}

TEST(FusedAttentionTest, SizesMayBeZero) {
  const auto zeros = [](const std::vector<int64_t>& shape) {
    return Make<float>(shape, std::vector<float>(NumElements(shape).value(), 1));
  };
  struct Sizes {
    int64_t b, s, t, h, hv;
  };
  for (const Sizes& c : {Sizes{0, 3, 4, 5, 6}, Sizes{2, 0, 4, 5, 6}, Sizes{2, 3, 0, 5, 6},
                         Sizes{2, 3, 4, 0, 6}, Sizes{2, 3, 4, 5, 0}}) {
    for (const int outputs : {1, 2}) {
      OpTester op = AttentionTester();
      op.Input(zeros({c.b, 2, c.s, c.h})).Input(zeros({c.b, 2, c.t, c.h}));
      op.Input(zeros({c.b, 2, c.t, c.hv})).Outputs(outputs);
      const auto kernel = op.Kernel();
      const auto reference = op.Reference();
      ASSERT_TRUE(kernel.ok() && reference.ok()) << kernel.status() << reference.status();
      for (int i = 0; i < outputs; ++i) ExpectClose((*kernel)[i], (*reference)[i], 2 * kEpsilon);
      op.NoInput().NoInput().Input(Make<float>({1}, {0.5F}));
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 2 * kEpsilon);
    }
  }
}

TEST(FusedAttentionInferTest, ExtentsComeFromTheLayouts) {
  Graph graph;
  NodeSpec spec;
  spec.domain = "attnrun";
  spec.op_type = "Attention";
  spec.opset = 1;
  spec.attributes["q_layout"] = std::string("b s (n:4 h:8)");
  spec.attributes["v_layout"] = std::string("b s 6+(n:2 h:3)");
  for (const char* name : {"q", "k", "v"}) spec.inputs.push_back(graph.AddInput(name, {}).value());
  const Node* node = graph.AddNode(std::move(spec), {"y", "p"}).value();
  const auto op = ops::OpRegistry::Get().Create(*node).value();
  const SymInt batch = SymInt::Symbol("batch");
  const SymInt queries = SymInt::Symbol("queries");
  const SymInt keys = SymInt::Symbol("keys");
  const ops::ValueFacts q{DataType::kFloat, std::vector<SymInt>{batch, queries, 32}, std::nullopt};
  const ops::ValueFacts k{DataType::kFloat, std::vector<SymInt>{batch, 2, keys, 8}, std::nullopt};
  const ops::ValueFacts v{DataType::kFloat, std::vector<SymInt>{batch, keys, 12}, std::nullopt};
  const ops::ValueFacts* inputs[] = {&q, &k, &v};
  const Tensor* constants[] = {nullptr, nullptr, nullptr};
  ops::ValueFacts outputs[2];
  ops::InferContext context(inputs, constants, absl::MakeSpan(outputs));
  op->Infer(context);
  EXPECT_EQ(outputs[0].type, DataType::kFloat);
  EXPECT_EQ(outputs[0].dims, (std::vector<SymInt>{batch, queries, 12}));
  EXPECT_EQ(outputs[1].dims, (std::vector<SymInt>{batch, 4, queries, keys}));
}

}  // namespace
}  // namespace attnrun::testing
