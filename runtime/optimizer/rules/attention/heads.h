// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEADS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEADS_H_

#include <optional>
#include <vector>

#include "ops/attention/head_layout.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rules/attention/head_axes.h"

namespace attnrun::opt {

// An operand of the attention: heads [b, s, n, h] in a value of the graph.
struct HeadOperand {
  Value* value = nullptr;
  ops::HeadLayout layout;
  double scale = 1;
  // Heads that the layout counts.
  SymInt heads;
  // If not empty, what the value must be reshaped to before the layout fits.
  std::vector<SymInt> reshaped = {};
};

// How to count heads of K and V that several heads of Q share.
enum class SharedHeads { kOnce, kRepeated };

// Which operand of attention it is.
enum class HeadRole { kQuery, kKey, kValue };

// The operand, [..., rows, channels], or [..., channels, rows] if `transposed`, as heads in the
// furthest value that can be read in place, else in the operand itself, reshaped. Leading axes that
// it lacks or has once are broadcast.
// nullopt if the operand does not fit the leading axes.
std::optional<HeadOperand> FindHeads(Value* value, HeadRole role, bool transposed,
                                     const HeadAxes& axes, Facts& facts,
                                     SharedHeads shared = SharedHeads::kOnce);

// An operand whose heads are the view [b, s, n, h] of `traced`'s base; nullopt if no layout says
// so.
std::optional<HeadOperand> AsOperand(const Traced& traced, View heads, HeadRole role,
                                     SharedHeads shared, Facts& facts);

// Where one Reshape both arranges the rows and splits them into heads, only the first is needed:
// [batch, .., D] -> [b, s, D] instead of [b, s, n, h]. The same rows of Q, K and V are then
// arranged once, before they are split. Other operands stay as they are.
HeadOperand OfWholeRows(HeadOperand operand, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEADS_H_
