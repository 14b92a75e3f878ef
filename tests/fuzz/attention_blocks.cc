// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "fuzz/attention_parts.h"
#include "fuzz/blocks.h"

namespace attnrun::testing {
namespace {

// A sink, written as a gate of each row.
Value* Gated(GraphMaker& m, Value* y, Value* scores) {
  Value* sum = m.Reduce("ReduceLogSumExp", scores, {-1});
  return m.Commute("Mul", y, m.Op("Sigmoid", {m.Op("Sub", {sum, m.Number(0.5)})}));
}

Value* Attended(GraphMaker& m, const Operands& operands, const AttentionShape& shape) {
  Value* scores = AddScores(m, operands, shape);
  if (m.dice().Chance(0.05)) m.Keep(scores);
  Value* y = m.Op("MatMul", {AddProbabilities(m, scores), operands.v});
  return m.dice().Chance(0.05) ? Gated(m, y, scores) : y;
}

// Some heads, or samples and heads, after the others. A part may begin and end anywhere, so within
// a group of heads that share keys, or within a sample.
Value* AttendedInParts(GraphMaker& m, const Operands& operands, const AttentionShape& shape) {
  const int64_t axis = shape.folded ? 0 : 1;
  const int64_t cut = m.dice().Int(1, std::max<int64_t>(shape.heads - 1, 1));
  const int64_t end = shape.folded ? INT32_MAX : shape.heads;
  std::vector<Value*> parts;
  for (const auto& [first, last] : {std::pair(int64_t{0}, cut), std::pair(cut, end)}) {
    const auto part = [&](Value* x) {
      return m.Op("Slice", {x, m.Ints({first}), m.Ints({last}), m.Ints({axis})});
    };
    parts.push_back(Attended(m, {part(operands.q), part(operands.k), part(operands.v)}, shape));
  }
  return m.Op("Concat", parts, {{"axis", axis}});
}

}  // namespace

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
  Value* y = dice.Chance(0.15) ? AttendedInParts(m, operands, shape) : Attended(m, operands, shape);
  return dice.Chance(0.95) ? AddMergedHeads(m, y, x, shape) : y;
}

}  // namespace attnrun::testing
