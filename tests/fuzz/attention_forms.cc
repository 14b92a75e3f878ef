// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention_parts.h"
#include "fuzz/blocks.h"

// Attentions that are not one product over all heads.
namespace attnrun::testing {
namespace {

// Computes one head after the other and concatenates them at the end.
Value* AddSingleHeads(GraphMaker& m, Value* x) {
  const int64_t width = m.dice().Of<int64_t>({1, 2, 4});
  const int64_t heads = m.dice().Int(2, 3);
  std::vector<Value*> outputs;
  const bool grouped = m.dice().Chance(0.2);
  Value* k = AddProjection(m, x, width);
  Value* v = AddProjection(m, x, width);
  for (int64_t head = 0; head < heads && !m.failed(); ++head) {
    Value* q = AddProjection(m, x, width);
    if (!grouped) k = AddProjection(m, x, width);
    if (!grouped) v = AddProjection(m, x, width);
    Value* scores = m.Op("MatMul", {q, m.Transpose(k, {0, 2, 1})});
    scores = m.Op("Mul", {scores, m.Number(0.5)});
    outputs.push_back(m.Op("MatMul", {AddProbabilities(m, scores), v}));
  }
  return m.Op("Concat", outputs, {{"axis", int64_t{-1}}});
}

// Scores of keys by queries, the softmax over the rows, V transposed.
Value* AddTransposed(GraphMaker& m, Value* x) {
  const int64_t width = m.dice().Of<int64_t>({1, 2, 4});
  const auto turned = [&] { return m.Transpose(AddProjection(m, x, width), {0, 2, 1}); };
  Value* scores = m.Op("MatMul", {AddProjection(m, x, width), turned()});
  Value* probabilities = m.Op("Softmax", {scores}, {{"axis", m.Axis(-2, 3)}});
  Value* y = m.Op("MatMul", {turned(), probabilities});
  return m.dice().Chance(0.8) ? m.Transpose(y, {0, 2, 1}) : y;
}

// The standard's Attention operator of opset 23.
Value* AddStandard(GraphMaker& m, Value* x) {
  if (m.opset() < 23) return m.Fail();
  const int64_t kv_heads = m.dice().Int(1, 2);
  const int64_t heads = kv_heads * m.dice().Int(1, 2);
  const int64_t width = m.dice().Of<int64_t>({1, 2, 4});
  AttributeMap attributes = {{"q_num_heads", heads}, {"kv_num_heads", kv_heads}};
  if (m.dice().Chance(0.3)) attributes["is_causal"] = int64_t{1};
  if (m.dice().Chance(0.3)) attributes["scale"] = 0.3F;
  if (m.dice().Chance(0.2)) attributes["softcap"] = 2.0F;
  std::vector<Value*> inputs = {AddProjection(m, x, heads * width),
                                AddProjection(m, x, kv_heads * width),
                                AddProjection(m, x, kv_heads * width)};
  if (m.dice().Chance(0.4) && m.HasExtentOf(x, 1, "seq")) {
    const DataType type = m.dice().Of({DataType::kBool, DataType::kFloat});
    inputs.push_back(m.Input(type, {"seq", "seq"}, 0, 1));
  }
  return m.Op("Attention", inputs, attributes);
}

}  // namespace

Value* AddOtherAttention(GraphMaker& m, Value* x) {
  if (m.failed() || m.Rank(x) != 3) return m.Fail();
  switch (m.dice().Int(0, 2)) {
    case 0:
      return AddSingleHeads(m, x);
    case 1:
      return AddTransposed(m, x);
    default:
      return AddStandard(m, x);
  }
}

}  // namespace attnrun::testing
