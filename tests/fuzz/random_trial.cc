// SPDX-License-Identifier: Apache-2.0
#include "fuzz/blocks.h"

namespace attnrun::testing {
namespace {

using Block = Value* (*)(GraphMaker&, Value*);

Value* AddFeedForward(GraphMaker& m, Value* x) {
  const auto width = m.Extent(x, -1);
  if (!width.has_value()) return m.Fail();
  Value* y = AddActivation(m, AddProjection(m, x, m.dice().Int(1, 16)));
  return m.Commute("Add", AddProjection(m, y, *width), x);
}

Value* AddOneProjection(GraphMaker& m, Value* x) { return AddProjection(m, x, m.dice().Int(1, 9)); }

// Adds the node that produces x a second time.
Value* AddTwin(GraphMaker& m, Value* x) {
  const Node* node = x->producer();
  if (node == nullptr || node->outputs().size() != 1) return m.Fail();
  Value* twin = m.Op(node->op_type(), node->inputs(), node->attributes());
  return m.dice().Chance(0.5) ? m.Commute("Add", x, twin) : twin;
}

void AddInputs(GraphMaker& m) {
  const int64_t width = m.dice().Of<int64_t>({1, 2, 4, 6, 8, 12});
  m.Input(DataType::kFloat, {"batch", "seq", width});
  if (m.dice().Chance(0.3)) m.Input(DataType::kFloat, {"batch", "past", width});
  if (m.dice().Chance(0.2)) m.Input(DataType::kFloat, {"seq", width});
  if (m.dice().Chance(0.2)) m.Input(DataType::kFloat, {m.dice().Int(1, 3), 3, width});
  if (m.dice().Chance(0.1)) m.Input(DataType::kFloat, {"batch", 3, "seq", width});
  if (m.dice().Chance(0.1)) m.Input(DataType::kFloat, {"batch", "seq", "past"});
}

Value* AddBlock(GraphMaker& m, Value* x) {
  static constexpr Block kBlocks[] = {
      AddOneProjection, AddSiblings, AddAttention,      AddAttention,  AddNormalization,
      AddActivation,    AddSoftmax,  AddRotary,         AddView,       AddView,
      AddView,          AddView,     AddDynamicReshape, AddArithmetic, AddArithmetic,
      AddCasts,         AddWhere,    AddFeedForward,    AddTwin,       AddOtherAttention};
  return kBlocks[m.dice().Int(0, std::ssize(kBlocks) - 1)](m, x);
}

// Images that convolutions take.
Trial RandomImages(GraphMaker& maker) {
  Dice& dice = maker.dice();
  const int64_t channels = dice.Of<int64_t>({1, 2, 3, 4, 6});
  maker.Input(DataType::kFloat,
              {"batch", channels, dice.Chance(0.5) ? DimSpec("seq") : DimSpec(5), 4});
  const int64_t steps = dice.Int(2, 12);
  for (int64_t i = 0; i < steps; ++i) {
    maker.Restart();
    Value* x = maker.Any([&](const Value* value) {
      return maker.TypeOf(value) == DataType::kFloat && maker.Rank(value) == 4;
    });
    if (x == nullptr) continue;
    maker.Keep(dice.Chance(0.9) ? AddImageBlock(maker, x) : AddBlock(maker, x));
  }
  return maker.Finish();
}

void AddStep(GraphMaker& m, bool indexed) {
  m.Restart();
  Value* x = m.AnyFloat();
  if (x == nullptr) return;
  m.Keep(indexed && m.dice().Chance(0.3) ? AddIndexed(m, x) : AddBlock(m, x));
}

}  // namespace

Trial RandomTrial(uint32_t seed, absl::Span<const uint8_t> chosen) {
  GraphMaker maker(seed, chosen);
  // One graph in eight is a stack of convolutions.
  if (seed % 8 == 5) return RandomImages(maker);
  AddInputs(maker);
  const int64_t steps = maker.dice().Int(1, 12);
  // One graph in four has computed indices.
  const bool indexed = seed % 4 == 3;
  for (int64_t i = 0; i < steps; ++i) AddStep(maker, indexed);
  return maker.Finish();
}

}  // namespace attnrun::testing
