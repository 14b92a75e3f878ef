#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/parallel.h"
#include "ops/registry.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

OpTester AttentionTester() { return OpTester("Attention", 1, "attnrun"); }

OpTester WithLayouts(const std::string& q, const std::string& k, const std::string& v) {
  OpTester op = AttentionTester();
  op.Attribute("q_layout", q).Attribute("k_layout", k).Attribute("v_layout", v);
  return op;
}

// One query of 1, keys 0 and 1, values 2 and 4: the scores are the keys.
OpTester TwoKeys() {
  OpTester op = WithLayouts("s h", "s h", "s h");
  op.Input(Make<float>({1, 1}, {1})).Input(Make<float>({2, 1}, {0, 1}));
  op.Input(Make<float>({2, 1}, {2, 4})).Outputs(2);
  return op;
}

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

TEST(FusedAttentionReferenceTest, RowsThatAreClosedEverywhere) {
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

// softmax([0, 1, sink]) without the last.
TEST(FusedAttentionReferenceTest, ASinkTakesItsShare) {
  for (const double sink : {-2.0, 0.5, 30.0}) {
    OpTester op = TwoKeys().NoInput().NoInput().Input(Make<float>({1}, {static_cast<float>(sink)}));
    const double total = 1 + std::exp(1) + std::exp(sink);
    const auto first = static_cast<float>(1 / total);
    const auto second = static_cast<float>(std::exp(1) / total);
    for (const auto& outputs : {op.Reference().value(), op.Kernel().value()}) {
      ExpectClose(outputs[0], Make<float>({1, 1, 1}, {2 * first + 4 * second}), 8 * kEpsilon);
      ExpectClose(outputs[1], Make<float>({1, 1, 1, 2}, {first, second}), 8 * kEpsilon);
    }
  }
}

TEST(FusedAttentionTest, RowsOfASinkAlone) {
  for (const float closed : {-kInf, std::numeric_limits<float>::lowest()}) {
    for (const float sink : {-3.0F, -kInf, kInf, NAN}) {
      for (const int outputs : {1, 2}) {
        OpTester op = TwoKeys().NoInput().Input(MakeBool({1, 1}, {0})).Outputs(outputs);
        op.Input(Make<float>({1}, {sink})).Attribute("mask_value", closed);
        // With all of them -inf, or NaN, there is no softmax; where the others count, their mean.
        const float alone = closed == -kInf ? NAN : 3.0F;
        const float expected = std::isfinite(sink) ? 0.0F : sink == -kInf ? alone : NAN;
        ExpectClose(op.Reference().value()[0], Make<float>({1, 1, 1}, {expected}), 2 * kEpsilon);
        ExpectClose(op.Kernel().value()[0], Make<float>({1, 1, 1}, {expected}), 2 * kEpsilon);
      }
    }
  }
}

TEST(FusedAttentionTest, RowsThatAreNoNumbers) {
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

TEST(FusedAttentionReferenceTest, LayoutsDescribeTheSameHeads) {
  std::mt19937 generator(Seed());
  const Tensor packed = RandomFloats({2, 5, 3 * 4 * 8}, generator);
  const auto values = ToDoubles(packed).value();
  // The same heads as [B,N,S,H], from [B,S,3,N,H].
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

TEST(FusedAttentionReferenceTest, OneSampleIsThatOfAll) {
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
            "k_layout: layout 'b n s' is of 3 axes, but the shape is [1,2,3,4]");
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

// One random attention: sizes, layouts, what closes keys.
struct Random {
  explicit Random(std::mt19937& g) : generator(g) {}
  int64_t Below(int64_t n) { return static_cast<int64_t>(generator() % static_cast<uint64_t>(n)); }
  template <typename T>
  T OneOf(std::vector<T> values) {
    return values[Below(static_cast<int64_t>(values.size()))];
  }
  std::mt19937& generator;
};

// A layout with the shape of a tensor that has these extents in it.
struct Laid {
  std::string layout;
  std::vector<int64_t> shape;
};
Laid RandomLayout(Random& random, int64_t b, int64_t s, int64_t n, int64_t h) {
  const std::string heads = absl::StrCat("(n:", n, " h:", h, ")");
  const std::vector<Laid> all = {
      {"b n s h", {b, n, s, h}},
      {"b s n h", {b, s, n, h}},
      {"b n h s", {b, n, h, s}},
      {absl::StrCat("b s ", n * h, "+", heads), {b, s, 3 * n * h}},
      {absl::StrCat("b s ", h, "+(n:", n, " _:3 h:", h, ")"), {b, s, n * 3 * h}},
      {absl::StrCat("(b n:", n, ") s h"), {b * n, s, h}},
      {"1+(_:3) b n s h", {3, b, n, s, h}},
      {absl::StrCat("b 2+() s (n:", n, " h)"), {b, 4, s, n * h}},
      {absl::StrCat("h s (b n:", n, ")"), {h, s, b * n}},
  };
  return random.OneOf(all);
}

// A shape that broadcasts to `full`.
std::vector<int64_t> RandomBroadcast(Random& random, std::vector<int64_t> full) {
  for (int64_t& extent : full) {
    if (random.Below(2) == 0) extent = 1;
  }
  if (random.Below(3) == 0) full.erase(full.begin());
  return full;
}

OpTester RandomAttention(Random& random, int outputs) {
  const int64_t b = random.OneOf<int64_t>({1, 2, 3});
  const int64_t s = random.OneOf<int64_t>({1, 1, 2, 7, 40, 70});
  const int64_t t = random.OneOf<int64_t>({1, 2, 9, 64, 65, 130, 200});
  const int64_t nkv = random.OneOf<int64_t>({1, 2, 3});
  const int64_t nq = nkv * random.OneOf<int64_t>({1, 1, 2, 4});
  const int64_t h = random.OneOf<int64_t>({1, 5, 8, 20, 32, 64});
  const int64_t hv = random.OneOf<int64_t>({h, 1, 7, 24, 40});
  // What has one sample has it for all.
  const auto samples = [&] { return random.Below(8) == 0 ? 1 : b; };
  const Laid q = RandomLayout(random, samples(), s, nq, h);
  const Laid k = RandomLayout(random, samples(), t, nkv, h);
  const Laid v = RandomLayout(random, samples(), t, nkv, hv);
  OpTester op = WithLayouts(q.layout, k.layout, v.layout);
  const DataType type = random.Below(4) == 0 ? DataType::kFloat16 : DataType::kFloat;
  for (const Laid& laid : {q, k, v}) {
    op.Input(Converted(RandomFloats(laid.shape, random.generator), type));
  }
  if (random.Below(2) == 0) {
    op.Input(RandomFloats(RandomBroadcast(random, {b, nq, s, t}), random.generator));
  } else {
    op.NoInput();
  }
  if (random.Below(2) == 0) {
    // At times few keys are open, so that rows and tiles without any occur.
    const int64_t high = random.OneOf<int64_t>({1, 1, 20});
    const std::vector<int64_t> shape = RandomBroadcast(random, {b, nq, s, t});
    std::vector<int> open(NumElements(shape).value());
    for (int& bit : open) bit = random.Below(high + 1) == 0 ? 1 : 0;
    op.Input(MakeBool(shape, open));
  } else {
    op.NoInput();
  }
  if (random.Below(3) == 0) {
    const Tensor sinks = RandomFloats(RandomBroadcast(random, {b, nq, s, 1}), random.generator);
    op.Input(Converted(sinks, type));
  }
  op.Attribute("scale", 1 / std::sqrt(static_cast<float>(h)));
  op.Attribute("softcap", random.OneOf<float>({0, 0, 0, 3}));
  op.Attribute("mask_value",
               random.OneOf<float>({-kInf, -1e9F, std::numeric_limits<float>::lowest(), -3}));
  op.Attribute("bias_on_closed", random.OneOf<int64_t>({0, 0, 1}));
  op.Attribute("masked_row", random.OneOf<std::string>({"nan", "zero", "guarded"}));
  op.Attribute("causal", random.OneOf<int64_t>({0, 0, 1, 2}));
  op.Attribute("left_window", random.OneOf<int64_t>({-1, -1, 0, 30}));
  op.Attribute("right_window", random.OneOf<int64_t>({-1, -1, 0, 70}));
  return op.Outputs(outputs);
}

// As for the standard's Attention: scores of up to a few dozen are off by sqrt(head size) roundings
// or so, which their weights take over as relative errors; a half result is rounded, perhaps to the
// other side.
double Tolerance(const Tensor& tensor) {
  return tensor.type() == DataType::kFloat ? 100 * kEpsilon : Epsilon(tensor.type());
}

TEST(FusedAttentionTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  Random random(generator);
  for (int i = 0; i < 150; ++i) {
    SCOPED_TRACE(i);
    for (const int outputs : {1, 2}) {
      const OpTester op = RandomAttention(random, outputs);
      const auto kernel = op.Kernel();
      const auto reference = op.Reference();
      ASSERT_TRUE(reference.ok()) << reference.status();
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      for (int output = 0; output < outputs; ++output) {
        ExpectClose((*kernel)[output], (*reference)[output], Tolerance((*reference)[output]));
      }
      if (HasFailure()) return;
    }
  }
}

void ExpectSameBitsForAnyThreads(unsigned seed) {
  std::mt19937 generator(seed);
  Random random(generator);
  const int threads = NumThreads();
  for (int i = 0; i < 20; ++i) {
    const OpTester op = RandomAttention(random, 1 + i % 2);
    SetNumThreads(1);
    const std::vector<Tensor> one = op.Kernel().value();
    SetNumThreads(2);
    const std::vector<Tensor> two = op.Kernel().value();
    for (size_t output = 0; output < one.size(); ++output) {
      EXPECT_EQ(std::memcmp(one[output].raw(), two[output].raw(), one[output].byte_size()), 0);
    }
  }
  SetNumThreads(threads);
}

TEST(FusedAttentionTest, BitsDoNotDependOnThreads) {
  ExpectSameBitsForAnyThreads(Seed());
  // Tiles that the mask seems to close count for some rows, which other rows share a block with.
  ExpectSameBitsForAnyThreads(786737271);
}

// A key that is only thought to be closed may hold anything.
TEST(FusedAttentionTest, NaNBehindAFiniteBiasShows) {
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
  ExpectClose((*kernel)[0], expected, Tolerance(expected));
  EXPECT_EQ(expected.shape(), (Shape{2, 9, 3 * 24}));
}

// A key of its own with a value of 0, whose score is the sink.
TEST(FusedAttentionTest, SinksAreScoresOfAKeyWithoutAValue) {
  std::mt19937 generator(Seed());
  const Tensor q = RandomFloats({2, 4, 70, 8}, generator);
  Tensor k = RandomFloats({2, 2, 131, 8}, generator);
  Tensor v = RandomFloats({2, 2, 131, 8}, generator);
  const Tensor sinks = RandomFloats({4, 1, 1}, generator);
  std::vector<float> bias(4 * 131, 0.0F);
  for (int64_t n = 0; n < 4; ++n) bias[n * 131 + 130] = sinks.data<float>()[n];
  for (int64_t row = 130; row < 4 * 131; row += 131) {
    std::fill_n(k.mutable_data<float>() + row * 8, 8, 0.0F);
    std::fill_n(v.mutable_data<float>() + row * 8, 8, 0.0F);
  }
  const auto without_last = [](const Tensor& x) {
    return x.View({2, 2, 130, 8}, {2 * 131 * 8, 131 * 8, 8, 1}, 0);
  };
  OpTester whole = AttentionTester();
  whole.Input(q).Input(k).Input(v).Input(Make<float>({4, 1, 131}, bias));
  OpTester op = AttentionTester();
  op.Input(q).Input(without_last(k)).Input(without_last(v)).NoInput().NoInput().Input(sinks);
  const Tensor expected = whole.Reference().value()[0];
  ExpectClose(op.Reference().value()[0], expected, Tolerance(expected));
  ExpectClose(op.Kernel().value()[0], expected, Tolerance(expected));
}

TEST(FusedAttentionTest, NoSamplesQueriesKeysOrChannels) {
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
  spec.attributes.insert_or_assign("q_layout", std::string("b s (n:4 h:8)"));
  spec.attributes.insert_or_assign("v_layout", std::string("b s 6+(n:2 h:3)"));
  for (const char* name : {"q", "k", "v"}) spec.inputs.push_back(graph.AddInput(name, {}).value());
  const Node* node = graph.AddNode(std::move(spec), {"y", "p"}).value();
  const auto op = OpRegistry::Get().Create(*node).value();
  const SymInt batch = SymInt::Symbol("batch");
  const SymInt queries = SymInt::Symbol("queries");
  const SymInt keys = SymInt::Symbol("keys");
  const ValueFacts q{DataType::kFloat, std::vector<SymInt>{batch, queries, 32}, std::nullopt};
  const ValueFacts k{DataType::kFloat, std::vector<SymInt>{batch, 2, keys, 8}, std::nullopt};
  const ValueFacts v{DataType::kFloat, std::vector<SymInt>{batch, keys, 12}, std::nullopt};
  const ValueFacts* inputs[] = {&q, &k, &v};
  const Tensor* constants[] = {nullptr, nullptr, nullptr};
  ValueFacts outputs[2];
  InferContext context(inputs, constants, absl::MakeSpan(outputs));
  op->Infer(context);
  EXPECT_EQ(outputs[0].type, DataType::kFloat);
  EXPECT_EQ(outputs[0].dims, (std::vector<SymInt>{batch, queries, 12}));
  EXPECT_EQ(outputs[1].dims, (std::vector<SymInt>{batch, 4, queries, keys}));
}

}  // namespace
}  // namespace attnrun::testing
