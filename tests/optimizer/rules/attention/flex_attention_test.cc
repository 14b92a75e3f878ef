// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/attention_graph.h"
#include "support/graph_parts.h"
#include "support/mask_graph.h"

namespace attnrun::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The nodes of a subgraph, given its input; `outer` are values of the graph around it.
using Modify = std::function<Value*(GraphBuilder&, Value*, const std::vector<Value*>&)>;

struct Flex {
  Modify score_mod = {};
  Modify prob_mod = {};
  // Makes what the subgraphs read from outside.
  std::function<std::vector<Value*>(GraphBuilder&)> outer = {};
  int64_t kv_heads = 2;
  DataType type = DataType::kFloat;
  AttributeMap attributes = {};
};

std::shared_ptr<Graph> Subgraph(const Modify& modify, const std::vector<Value*>& outer) {
  GraphBuilder b(24);
  Value* x = b.Input("x", DataType::kUndefined);
  std::vector<Value*> captured;
  captured.reserve(outer.size());
  for (Value* value : outer) captured.push_back(b.Capture(value));
  b.Output(modify(b, x, captured));
  return *b.Build();
}

// FlexAttention with two heads of 4 channels (3 for V).
OptimizerTester Attend(const Flex& flex) {
  const auto build = [=](GraphBuilder& b) {
    Value* q = b.Input("q", flex.type, {"batch", 2, "seq", 4});
    Value* k = b.Input("k", flex.type, {"batch", flex.kv_heads, "keys", 4});
    Value* v = b.Input("v", flex.type, {"batch", flex.kv_heads, "keys", 3});
    const auto outer = flex.outer ? flex.outer(b) : std::vector<Value*>{};
    AttributeMap attributes = flex.attributes;
    if (flex.score_mod) attributes["score_mod"] = Subgraph(flex.score_mod, outer);
    if (flex.prob_mod) attributes["prob_mod"] = Subgraph(flex.prob_mod, outer);
    b.Output(b.Op("ai.onnx.preview::FlexAttention", {q, k, v}, attributes));
  };
  return OptimizerTester(build, {}, 24);
}

void ExpectFused(OptimizerTester test, double tolerance = kAttentionTolerance) {
  EXPECT_EQ(test.Count("attnrun.Attention"), 1) << test.Ops();
  EXPECT_EQ(test.Count("Softmax") + test.Count("MatMul"), 0) << test.Ops();
  test.ExpectSameResults(tolerance);
  test.Dim("batch", 2).Dim("seq", 9).Dim("keys", 9).ExpectSameResults(tolerance);
  test.Dim("seq", 1).Dim("keys", 1).ExpectSameResults(tolerance);
}

// The nodes of a FlexAttention that run on kernels of their own, and why they are no attention.
void ExpectInParts(const Flex& flex, const std::string& why) {
  const OptimizerTester test = Attend(flex);
  EXPECT_EQ(test.Count("ai.onnx.preview.FlexAttention"), 0) << test.Ops();
  EXPECT_EQ(test.Count("Softmax"), 1) << test.Ops();
  EXPECT_THAT(test.Misses("attention"), Contains(HasSubstr(why)));
  test.ExpectSameResults(kAttentionTolerance);
}

// The positions along axis 2 (queries, as a column) or 3 (keys) of the scores.
Value* Positions(GraphBuilder& b, Value* scores, int64_t axis) {
  Value* extent = b.Op("Shape", {scores}, {{"start", axis}, {"end", axis + 1}});
  Value* count = b.Op("Squeeze", {extent});
  Value* range = b.Op("Range", {Scalar(b, 0), count, Scalar(b, 1)});
  return axis == 3 ? range : b.Op("Unsqueeze", {range, Vector(b, {1})});
}
Value* IsCausal(GraphBuilder& b, Value* scores) {
  return b.Op("GreaterOrEqual", {Positions(b, scores, 2), Positions(b, scores, 3)});
}
Value* Masked(GraphBuilder& b, Value* scores, Value* mask) {
  return b.Op("Where", {mask, scores, Number(b, -kInfinity)});
}

Value* Scale(GraphBuilder& b, Value* scores, const std::vector<Value*>& /*outer*/) {
  return b.Op("Mul", {scores, Number(b, 0.5F)});
}
Value* Causal(GraphBuilder& b, Value* scores, const std::vector<Value*>& /*outer*/) {
  return Masked(b, scores, IsCausal(b, scores));
}
Value* SlidingWindow(GraphBuilder& b, Value* scores, const std::vector<Value*>& /*outer*/) {
  Value* distance = b.Op("Sub", {Positions(b, scores, 2), Positions(b, scores, 3)});
  Value* near = b.Op("Less", {distance, Scalar(b, 3)});
  return Masked(b, scores, b.Op("And", {IsCausal(b, scores), near}));
}
Value* Softcap(GraphBuilder& b, Value* scores, const std::vector<Value*>& /*outer*/) {
  Value* capped = b.Op("Tanh", {b.Op("Div", {scores, Number(b, 2)})});
  return b.Op("Mul", {capped, Number(b, 2)});
}
Value* CappedAndCausal(GraphBuilder& b, Value* scores, const std::vector<Value*>& outer) {
  return Causal(b, Softcap(b, scores, outer), outer);
}
Value* AddOuter(GraphBuilder& b, Value* scores, const std::vector<Value*>& outer) {
  return b.Op("Add", {scores, outer[0]});
}
Value* MaskByOuter(GraphBuilder& b, Value* scores, const std::vector<Value*>& outer) {
  return Masked(b, scores, outer[0]);
}
// A slope for each head times the distance of key and query.
Value* Alibi(GraphBuilder& b, Value* scores, const std::vector<Value*>& /*outer*/) {
  Value* distance = b.Op("Sub", {Positions(b, scores, 3), Positions(b, scores, 2)});
  Value* slopes = b.Constant("slopes", {2, 1, 1}, {0.5F, 0.25F});
  Value* steps = b.Op("Cast", {distance}, {{"to", static_cast<int64_t>(DataType::kFloat)}});
  return b.Op("Add", {scores, b.Op("Mul", {slopes, steps})});
}
// A learned number for each distance up to 4 and head, as T5 has it.
Value* RelativeBias(GraphBuilder& b, Value* scores, const std::vector<Value*>& /*outer*/) {
  Value* distance = b.Op("Sub", {Positions(b, scores, 3), Positions(b, scores, 2)});
  Value* row = b.Op("Clip", {distance, Scalar(b, -2), Scalar(b, 2)});
  row = b.Op("Add", {row, Scalar(b, 2)});
  Value* table = b.Constant("table", {5, 2}, {.1F, .2F, .3F, .4F, .5F, .6F, .7F, .8F, .9F, 1.F});
  Value* bias = b.Op("Gather", {table, row});
  return b.Op("Add", {scores, Transposed(b, bias, {2, 0, 1})});
}
// Queries see the keys of their own document: ids [batch, 1, seq, 1] and [batch, 1, 1, keys].
Value* SameDocument(GraphBuilder& b, Value* scores, const std::vector<Value*>& outer) {
  return Masked(b, scores, b.Op("Equal", {outer[0], outer[1]}));
}

TEST(FlexAttentionTest, WithoutSubgraphs) {
  ExpectFused(Attend({}));
  ExpectFused(Attend({.attributes = {{"scale", 0.3F}}}));
}

TEST(FlexAttentionTest, GroupedHeads) {
  ExpectFused(Attend({.kv_heads = 1}));
  ExpectFused(Attend({.score_mod = Causal, .kv_heads = 1}));
}

TEST(FlexAttentionTest, ScoresOfItsOwn) {
  for (const auto& modify : {Scale, Softcap, Alibi, RelativeBias}) {
    ExpectFused(Attend({.score_mod = modify}));
  }
}

TEST(FlexAttentionTest, MasksByPosition) {
  for (const auto& [modify, window] :
       {std::pair<Modify, int64_t>{Causal, -1}, {CappedAndCausal, -1}, {SlidingWindow, 2}}) {
    const Flex flex = {.score_mod = modify};
    ExpectFused(Attend(flex));
    EXPECT_EQ(Attribute(Attend(flex), "causal"), 1);
    EXPECT_EQ(Attribute(Attend(flex), "left_window"), window);
  }
}

TEST(FlexAttentionTest, ValuesFromOutside) {
  ExpectFused(Attend({.score_mod = AddOuter, .outer = [](GraphBuilder& b) {
                        return std::vector<Value*>{
                            b.Input("bias", DataType::kFloat, {"batch", 2, "seq", "keys"})};
                      }}));
  ExpectFused(Attend({.score_mod = MaskByOuter, .outer = [](GraphBuilder& b) {
                        return std::vector<Value*>{
                            b.Input("mask", DataType::kBool, {"batch", 1, 1, "keys"})};
                      }}));
  ExpectFused(Attend({.score_mod = SameDocument, .outer = [](GraphBuilder& b) {
                        return std::vector<Value*>{
                            b.Input("own", DataType::kInt64, {"batch", 1, "seq", 1}),
                            b.Input("other", DataType::kInt64, {"batch", 1, 1, "keys"})};
                      }}));
}

TEST(FlexAttentionTest, OtherTypes) {
  ExpectFused(Attend({.score_mod = Causal, .type = DataType::kFloat16}), 1e-3);
  ExpectFused(Attend({.type = DataType::kDouble}));
}

TEST(FlexAttentionTest, ProbabilitiesAsTheyAre) {
  ExpectFused(Attend({.prob_mod = [](GraphBuilder&, Value* x, const auto&) { return x; }}));
  ExpectFused(Attend(
      {.prob_mod = [](GraphBuilder& b, Value* x, const auto&) { return b.Op("Identity", {x}); }}));
}

TEST(FlexAttentionTest, OtherScoresRunInParts) {
  ExpectInParts(
      {.score_mod = [](GraphBuilder& b, Value* x, const auto&) { return b.Op("Sigmoid", {x}); }},
      "between the scores and the Softmax stands");
  // A scale for each query and key is no number.
  ExpectInParts({.score_mod = [](GraphBuilder& b, Value* x,
                                 const auto& outer) { return b.Op("Mul", {x, outer[0]}); },
                 .outer =
                     [](GraphBuilder& b) {
                       return std::vector<Value*>{b.Input("by", DataType::kFloat, {"seq", "keys"})};
                     }},
                "between the scores and the Softmax stands");
}

TEST(FlexAttentionTest, OtherProbabilitiesRunInParts) {
  ExpectInParts(
      {.prob_mod = [](GraphBuilder& b, Value* x, const auto&) { return b.Op("Sqrt", {x}); }},
      "Sqrt");
}

TEST(FlexAttentionTest, SubgraphsInsideStay) {
  const OptimizerTester test = Attend({.score_mod = [](GraphBuilder& b, Value* x, const auto&) {
    GraphBuilder branch(24);
    branch.Output(branch.Op("Neg", {branch.Capture(x)}));
    const AttributeValue body = std::shared_ptr<Graph>(*branch.Build());
    Value* positive =
        b.Op("Greater", {b.Op("ReduceMax", {x}, {{"keepdims", int64_t{0}}}), Number(b, 0)});
    return b.Op("If", {positive}, {{"then_branch", body}, {"else_branch", body}});
  }});
  EXPECT_EQ(test.Count("ai.onnx.preview.FlexAttention"), 1);
  EXPECT_THAT(test.Misses("flex_attention"),
              Contains(HasSubstr("(If) of score_mod has a subgraph")));
}

TEST(FlexAttentionTest, OtherNumbersOfHeadsStay) {
  EXPECT_THAT(Attend({.kv_heads = 3}).Misses("flex_attention"),
              Contains(HasSubstr("the numbers of its heads")));
}

}  // namespace
}  // namespace attnrun::testing
