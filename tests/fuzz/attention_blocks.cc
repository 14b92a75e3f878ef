// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "fuzz/attention_parts.h"
#include "fuzz/blocks.h"

namespace attnrun::testing {

Value* AddAttention(GraphMaker& m, Value* x) {
  if (m.failed() || m.Rank(x) != 3) return m.Fail();
  Dice& dice = m.dice();
  Value* memory = x;
  if (dice.Chance(0.25)) {
    memory = m.Any([&](const Value* value) {
      return m.TypeOf(value) == DataType::kFloat && m.Rank(value) == 3;
    });
  }
  AttentionShape shape;
  shape.kv_heads = dice.Int(1, 3);
  shape.heads = shape.kv_heads * (dice.Chance(0.7) ? 1 : dice.Int(2, 3));
  shape.width = dice.Of<int64_t>({1, 2, 4, 6, 8});
  shape.value_width = dice.Chance(0.85) ? shape.width : dice.Int(1, 5);
  shape.folded = dice.Chance(0.15);
  const Operands operands = AddOperands(m, x, memory, shape);
  Value* scores = AddScores(m, operands, shape);
  if (dice.Chance(0.05)) m.Keep(scores);
  Value* y = m.Op("MatMul", {AddProbabilities(m, scores), operands.v});
  return dice.Chance(0.95) ? AddMergedHeads(m, y, x, shape) : y;
}

}  // namespace attnrun::testing
