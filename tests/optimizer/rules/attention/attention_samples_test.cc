// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "support/attention_graph.h"
#include "support/graph_parts.h"

// The axes of samples and heads, and which of them broadcast.
namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// nn.MultiheadAttention with a query and a memory whose batches have two names. Reshapes that use
// the query's batch for both fail unless the two are equal.
TEST(AttentionSamplesTest, TheBatchMayHaveTwoNames) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* query = b.Input("query", DataType::kFloat, {"batch", "seq", 32});
    Value* memory = b.Input("memory", DataType::kFloat, {"memory_batch", "keys", 32});
    const auto extent = [&](Value* x, int64_t axis) {
      return b.Op("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
    };
    const auto heads = [&](Value* x, std::vector<int64_t> order) {
      Value* length = extent(x, 1);
      x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
      Value* count = b.Op("Mul", {extent(query, 0), Vector(b, {4})});
      Value* shape = b.Op("Concat", {length, count, Vector(b, {8})}, {{"axis", int64_t{0}}});
      x = b.Op("Reshape", {x, shape}, {{"allowzero", int64_t{1}}});
      return b.Op("Transpose", {x}, {{"perm", std::move(order)}});
    };
    Value* scores = b.Op("MatMul", {heads(query, {1, 0, 2}), heads(memory, {1, 2, 0})});
    Value* y = b.Op("MatMul", {b.Op("Softmax", {scores}), heads(memory, {1, 0, 2})});
    y = b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    Value* shape = b.Op("Concat", {extent(query, 1), extent(query, 0), Vector(b, {32})},
                        {{"axis", int64_t{0}}});
    y = b.Op("Reshape", {y, shape}, {{"allowzero", int64_t{1}}});
    b.Output(b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{1, 0, 2}}}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  test.ExpectSameResults(kAttentionTolerance);
  test.Dim("seq", 5).Dim("keys", 1).ExpectSameResults(kAttentionTolerance);
  ASSERT_EQ(test.graph().equalities().list().size(), 1U);
  EXPECT_EQ(test.graph().equalities().list()[0].a, SymInt::Symbol("memory_batch"));
}

// The batches of queries and keys may differ if one of them is 1: no input tells that of the
// result.
TEST(AttentionSamplesTest, TheBatchMayBeBroadcast) {
  OptimizerTester test([](GraphBuilder& b) {
    const auto heads = [&](const char* name, const char* batch, const char* length) {
      return Heads(b, b.Input(name, DataType::kFloat, {batch, length, 8}));
    };
    Value* queries = Transposed(b, heads("q", "batch", "seq"), {0, 1, 3, 2});
    Value* scores = b.Op("MatMul", {heads("k", "other", "keys"), queries});
    Value* p = Transposed(b, b.Op("Softmax", {scores}, {{"axis", int64_t{2}}}), {0, 1, 3, 2});
    Value* y = b.Op("MatMul", {p, heads("v", "other", "keys")});
    y = Transposed(b, y, {0, 2, 1, 3});
    Value* rows = b.Op("Shape", {y}, {{"end", int64_t{2}}});
    Value* shape = b.Op("Concat", {rows, Vector(b, {8})}, {{"axis", int64_t{0}}});
    Value* weight = b.Constant("w", Make<float>({8, 8}, std::vector<float>(64, 0.25F)));
    b.Output(b.Op("Reshape", {b.Op("Gemm", {Shaped(b, y, {-1, 8}), weight}), shape}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention attnrun.Linear");
  test.Dim("batch", 3).Dim("other", 3).Dim("seq", 5).Dim("keys", 2);
  test.ExpectSameResults(kAttentionTolerance);
  test.Dim("other", 1).ExpectSameResults(kAttentionTolerance);
  test.Dim("other", 2).Dim("batch", 1).ExpectSameResults(kAttentionTolerance);
}

// Columns of a table of rows (AlphaFold, axial attention): the samples are two separate axes.
TEST(AttentionSamplesTest, SamplesMayBeTwoSeparateAxes) {
  const auto heads = [](GraphBuilder& b, const char* name, bool transposed) {
    Value* x = b.Input(name, DataType::kFloat, {"batch", "seq", "columns", 8});
    x = b.Op("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    x = b.Op("Reshape", {x, b.Constant<int64_t>("heads", {5}, {0, 0, 0, 2, 4})});
    const std::vector<int64_t> order =
        transposed ? std::vector<int64_t>{0, 1, 3, 4, 2} : std::vector<int64_t>{0, 1, 3, 2, 4};
    return b.Op("Transpose", {x}, {{"perm", order}});
  };
  OptimizerTester test([&](GraphBuilder& b) {
    Value* scores = b.Op("MatMul", {heads(b, "q", false), heads(b, "k", true)});
    Value* y = b.Op("MatMul", {b.Op("Softmax", {scores}), heads(b, "v", false)});
    b.Output(b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 1, 3, 2, 4}}}));
  });
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(kAttentionTolerance);
  test.Dim("columns", 1).Dim("seq", 5).ExpectSameResults(kAttentionTolerance);
}

// fairseq and nn.MultiheadAttention reshape [seq, batch, 8] to [seq, batch * 2, 4], where nothing
// distinguishes samples from heads. WavLM adds a bias for each of both.
TEST(AttentionSamplesTest, SamplesAndHeadsMayBeOneAxis) {
  for (const bool with_bias : {false, true}) {
    OptimizerTester test([&](GraphBuilder& b) {
      const auto heads = [&](const char* name, const std::vector<int64_t>& order) {
        Value* x = b.Input(name, DataType::kFloat, {"seq", "batch", 8});
        x = b.Op("Reshape", {x, b.Op("Concat",
                                     {b.Op("Shape", {x}, {{"end", int64_t{1}}}),
                                      b.Constant<int64_t>("rest", {2}, {-1, 4})},
                                     {{"axis", int64_t{0}}})});
        return b.Op("Transpose", {x}, {{"perm", order}});
      };
      Value* scores = b.Op("MatMul", {heads("q", {1, 0, 2}), heads("k", {1, 2, 0})});
      if (with_bias) {
        Value* bias = b.Input("bias", DataType::kFloat, {"batch", 2, "seq", "seq"});
        Value* like = b.Op("Shape", {scores});
        scores = b.Op("Add", {scores, b.Op("Reshape", {bias, like})});
      }
      Value* y = b.Op("MatMul", {b.Op("Softmax", {scores}), heads("v", {1, 0, 2})});
      b.Output(b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{1, 0, 2}}}));
    });
    SCOPED_TRACE(with_bias);
    EXPECT_THAT(test.Misses("attention"), IsEmpty());
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    test.ExpectSameResults(kAttentionTolerance);
    test.Dim("batch", 1).Dim("seq", 4).ExpectSameResults(kAttentionTolerance);
  }
}

// Cosine scores with a factor per head. Each of a sample's 4 windows has its own mask.
TEST(AttentionSamplesTest, EachWindowOfASampleMayHaveAMask) {
  OptimizerTester test([](GraphBuilder& b) {
    const auto windows = [&](const char* name) {
      return Shaped(b, b.Input(name, DataType::kFloat, {"batch", 4, 6, 8}), {-1, 6, 8});
    };
    const auto cosine = [&](Value* heads) {
      Value* norm = b.Op("ReduceL2", {heads, b.Constant<int64_t>("last", {1}, {-1})});
      return b.Op("Div", {heads, b.Op("Max", {norm, Number(b, 1e-12F)})});
    };
    const std::vector<int64_t> order = {0, 1, 3, 2};
    Value* k = b.Op("Transpose", {cosine(Heads(b, windows("k")))}, {{"perm", order}});
    Value* s = b.Op("MatMul", {cosine(Heads(b, windows("q"))), k});
    s = b.Op("Mul", {s, b.Constant<float>("logits", {2, 1, 1}, {3, 0.5F})});
    s = b.Op("Add", {s, b.Input("table", DataType::kFloat, {1, 2, 6, 6})});
    s = Shaped(b, s, {-1, 4, 2, 6, 6});
    s = b.Op("Add", {s, b.Input("mask", DataType::kFloat, {1, 4, 1, 6, 6})});
    Value* p = b.Op("Softmax", {Shaped(b, s, {-1, 2, 6, 6})});
    b.Output(b.Op("MatMul", {p, Heads(b, windows("v"))}));
  });
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(kAttentionTolerance);
  test.Dim("batch", 1).ExpectSameResults(kAttentionTolerance);
}

// As Swin's shifted windows of images of any size: the windows are cut from a rolled axis, their
// masks from one of the same length that was not rolled.
TEST(AttentionSamplesTest, TheAxisOfWindowsMayBeRolled) {
  OptimizerTester test([](GraphBuilder& b) {
    const auto count = [&](Value* x) {
      Value* extent = b.Op("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
      return b.Op("Div", {extent, Vector(b, {6})});
    };
    const auto joined = [&](const std::vector<Value*>& parts) {
      return b.Op("Concat", parts, {{"axis", int64_t{0}}});
    };
    const auto heads = [&](const char* name) {
      Value* x = b.Input(name, DataType::kFloat, {"batch", "length", 8});
      const auto part = [&](int64_t from, int64_t to) {
        return b.Op("Slice", {x, Vector(b, {from}), Vector(b, {to}), Vector(b, {1})});
      };
      x = b.Op("Concat", {part(2, INT64_MAX), part(0, 2)}, {{"axis", int64_t{1}}});
      x = b.Op("Reshape", {x, joined({Vector(b, {0}), count(x), Vector(b, {6, 8})})});
      return Heads(b, Shaped(b, x, {-1, 6, 8}));
    };
    Value* k = b.Op("Transpose", {heads("k")}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    Value* s = b.Op("Mul", {b.Op("MatMul", {heads("q"), k}), Number(b, 0.35F)});
    Value* mask = b.Input("mask", DataType::kFloat, {1, "length", 6});
    Value* windows = count(mask);
    mask = b.Op("Reshape", {mask, joined({Vector(b, {1}), windows, Vector(b, {1, 6, 6})})});
    Value* samples = b.Op("Shape", {s}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
    samples = b.Op("Div", {samples, windows});
    s = b.Op("Reshape", {s, joined({samples, windows, Vector(b, {2, 6, 6})})});
    Value* p = b.Op("Softmax", {Shaped(b, b.Op("Add", {s, mask}), {-1, 2, 6, 6})});
    b.Output(b.Op("MatMul", {p, heads("v")}));
  });
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.Dim("length", 12).ExpectSameResults(kAttentionTolerance);
  test.Dim("length", 6).ExpectSameResults(kAttentionTolerance);
}

// As SAM's mask decoder: each operand computes the number of samples anew. It must not be read from
// the probabilities, which then could not become part of the attention.
TEST(AttentionSamplesTest, TheNumberOfSamplesMayBeAProduct) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {"batch", "points", "n", 8});
    const auto extent = [&](Value* of, int64_t axis) {
      return b.Op("Shape", {of}, {{"start", axis}, {"end", axis + 1}});
    };
    const auto heads = [&](float weight, bool transposed) {
      Value* w = b.Constant("w", *Tensor::Of<float>({8, 8}, std::vector<float>(64, weight)));
      Value* y = b.Op("Mul", {b.Op("MatMul", {x, w}), x});
      Value* samples = b.Op("Mul", {extent(y, 0), extent(y, 1)});
      Value* shape =
          b.Op("Concat", {samples, extent(y, 2), Vector(b, {8})}, {{"axis", int64_t{0}}});
      return Heads(b, b.Op("Reshape", {y, shape}), transposed);
    };
    Value* p = b.Op("Softmax", {b.Op("MatMul", {heads(0.1F, false), heads(0.2F, true)})});
    Value* y = Transposed(b, b.Op("MatMul", {p, heads(0.3F, false)}), {0, 2, 1, 3});
    Value* shape = b.Op("Concat", {extent(x, 0), extent(x, 1), extent(x, 2), Vector(b, {8})},
                        {{"axis", int64_t{0}}});
    b.Output(b.Op("Reshape", {y, shape}));
  });
  EXPECT_THAT(test.Misses("attention"), IsEmpty());
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  EXPECT_EQ(test.Count("MatMul") + test.Count("Softmax"), 0);
  test.ExpectSameResults(kAttentionTolerance);
}

// lucidrains' multi-query attention: one head of keys and values for all heads of queries.
TEST(AttentionSamplesTest, EinsumOfHeadsThatShareKeysIsFused) {
  const OptimizerTester test([](GraphBuilder& b) {
    const auto einsum = [&](const char* equation, Value* left, Value* right) {
      return b.Op("Einsum", {left, right}, {{"equation", std::string(equation)}});
    };
    Value* k = b.Input("k", DataType::kFloat, {"batch", "source", 4});
    Value* v = b.Input("v", DataType::kFloat, {"batch", "source", 4});
    Value* scores = einsum("bhid,bjd->bhij", Heads(b, Input(b, "q")), k);
    Value* y = einsum("bhij,bjd->bhid", b.Op("Softmax", {scores}), v);
    y = b.Op("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    b.Output(b.Op("Reshape", {y, b.Constant<int64_t>("merged", {3}, {0, 0, 8})}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.Attention");
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(AttentionSamplesTest, VMustHaveTheHeadsOfTheScores) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {1, 1, 6, 4});
    Value* k = b.Input("k", DataType::kFloat, {1, 1, 4, 6});
    Value* v = b.Input("v", DataType::kFloat, {1, 6, 6, 2});
    b.Output(b.Op("MatMul", {b.Op("Softmax", {b.Op("MatMul", {q, k})}), v}));
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 0);
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(AttentionSamplesTest, SamplesThatBroadcastToPositionsAreNotSamples) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* q = b.Input("q", DataType::kFloat, {17, 2, "batch", 4});
    Value* k = b.Input("k", DataType::kFloat, {"batch", 2, 4, 17});
    Value* v = b.Input("v", DataType::kFloat, {"batch", 2, 17, 4});
    b.Output(b.Op("MatMul", {b.Op("Softmax", {b.Op("MatMul", {q, k})}), v}));
  });
  test.Dim("batch", 1).ExpectSameResults(kAttentionTolerance);
}

// Extents with different names may be 1 and more than 1 at run time; the operator broadcasts them
// as the products do.
TEST(AttentionSamplesTest, SamplesOfOtherNamesBroadcast) {
  const auto attention = [](GraphBuilder& b, Value* q, Value* k, Value* v) {
    Value* p = b.Op("Softmax", {b.Op("MatMul", {Heads(b, q), Heads(b, k, true)})});
    b.Output(b.Op("MatMul", {p, Heads(b, v)}));
    return p;
  };
  const auto all_but_first = [](GraphBuilder& b, Value* x) { return Sliced(b, x, 1, 1 << 20, 0); };
  for (const int sliced : {0, 1, 2}) {
    SCOPED_TRACE(sliced);
    OptimizerTester test([&](GraphBuilder& b) {
      std::array<Value*, 3> x = {Input(b, "q"), Input(b, "k"), Input(b, "v")};
      x[sliced] = all_but_first(b, x[sliced]);
      attention(b, x[0], x[1], x[2]);
    });
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    test.Dim("batch", 2).ExpectSameResults(kAttentionTolerance);
  }
  OptimizerTester read([&](GraphBuilder& b) {
    Value* x = all_but_first(b, Input(b, "x"));
    b.Output(attention(b, x, x, Input(b, "v")));
  });
  EXPECT_THAT(read.Misses("attention"), ElementsAre(HasSubstr("other samples than the result")));
  read.Dim("batch", 2).ExpectSameResults(kAttentionTolerance);
}

TEST(AttentionSamplesTest, SamplesOfTheMaskBroadcast) {
  OptimizerTester test = WithScores([](GraphBuilder& b, Value* s) {
    Value* mask = b.Input("mask", DataType::kBool, {"other", 1, 1, "seq"});
    return b.Op("Where", {mask, s, Number(b, -1e9F)});
  });
  EXPECT_EQ(test.Count("attnrun.Attention"), 1);
  test.Dim("batch", 1).Dim("other", 2).ExpectSameResults(kAttentionTolerance);
  test.Dim("batch", 2).Dim("other", 1).ExpectSameResults(kAttentionTolerance);
}

// One query, repeated: the operator must know how often.
TEST(AttentionSamplesTest, RepeatedPositionsAreCounted) {
  for (const char* repeated : {"q", "k", "v"}) {
    SCOPED_TRACE(repeated);
    OptimizerTester test([&](GraphBuilder& b) {
      const auto heads = [&](const char* name, bool transposed) {
        if (std::string(name) != repeated) return Heads(b, Input(b, name), transposed);
        Value* x = b.Input(name, DataType::kFloat, {"batch", 1, 8});
        return Heads(b, b.Op("Expand", {x, b.Op("Shape", {Input(b, "like")})}), transposed);
      };
      Value* p = b.Op("Softmax", {b.Op("MatMul", {heads("q", false), heads("k", true)})});
      b.Output(b.Op("MatMul", {p, heads("v", false)}));
    });
    ExpectOneAttention(std::move(test), kAttentionTolerance);
  }
}

// Learned queries, keys and values, repeated for all samples: the operator counts samples by what
// repeats them.
TEST(AttentionSamplesTest, SamplesThatAllOperandsRepeatAreCounted) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* shape = b.Op("Shape", {Input(b, "like")});
    const auto rows = [&](const char* name) {
      return b.Op("Expand", {b.Input(name, DataType::kFloat, {1, "seq", 8}), shape});
    };
    Value* p = b.Op("Softmax", {b.Op("MatMul", {Heads(b, rows("q")), Heads(b, rows("k"), true)})});
    b.Output(b.Op("MatMul", {p, Heads(b, rows("v"))}));
  });
  ExpectOneAttention(std::move(test), kAttentionTolerance);
}

TEST(AttentionSamplesTest, ThereMayBeNoSamples) {
  const OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {0, 5, 24});
    const auto third = [&](int64_t i) { return Sliced(b, x, 8 * i, 8 * i + 8, 2); };
    Value* scores = b.Op("MatMul", {Heads(b, third(0)), Heads(b, third(1), true)});
    b.Output(b.Op("MatMul", {b.Op("Softmax", {scores}), Heads(b, third(2))}));
  });
  test.ExpectSameResults(kAttentionTolerance);
}

}  // namespace
}  // namespace attnrun::testing
