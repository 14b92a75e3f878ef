// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEADS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEADS_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ops/attention/head_layout.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"

namespace attnrun::opt {

// An operand of the attention: a value of the graph and the layout by which heads [b, s, n, h] are
// read from it.
struct HeadOperand {
  Value* value = nullptr;
  ops::HeadLayout layout;
  double scale = 1;
  // The number of heads that the layout has.
  SymInt heads;
  // If not empty, the extents to which the value must be reshaped before the layout fits.
  std::vector<SymInt> reshaped = {};
  // If set, the value [..., rows, channels], or [..., channels, rows] if `transposed`, must be
  // rearranged to [batch, heads, rows, channels] before the layout fits.
  struct Arrangement {
    AxisMap axes;
    bool transposed;
  };
  std::optional<Arrangement> arrangement = {};
};

// How to count heads of K and V that several heads of Q share.
enum class SharedHeads { kOnce, kRepeated };

// Which operand of attention it is.
enum class HeadRole { kQuery, kKey, kValue };

// Finds Q, K or V as heads. `value` is the operand of a product, [..., rows, channels], or [...,
// channels, rows] if `transposed`; `axes` maps the axes before the channels to samples, heads and
// rows. Walks up from it through views and returns the furthest value from which a layout can read
// the heads; failing that, the operand itself, rearranged. Axes that it lacks or has with extent 1
// are broadcast. nullopt if the operand does not fit the axes.
std::optional<HeadOperand> FindHeads(Value* value, HeadRole role, bool transposed,
                                     const AxisMap& axes, Facts& facts,
                                     SharedHeads shared = SharedHeads::kOnce);

// The operand whose heads are the view [b, s, n, h] of the base of `traced`; nullopt if no layout
// expresses it.
std::optional<HeadOperand> AsOperand(const Traced& traced, View heads, HeadRole role,
                                     SharedHeads shared, Facts& facts);

// True if one of the layouts has the role. Samples and heads that none has would be lost: the
// operator counts them by its operands.
bool HasRole(absl::Span<const ops::HeadLayout> layouts, char role);

// Undoes half of a Reshape that both arranges rows and splits them into heads: the layout can
// split, so the value need only be [b, s, D], not [b, s, n, h]. Q, K and V that share rows can then
// share that Reshape. Other operands stay as they are.
HeadOperand OfWholeRows(HeadOperand operand, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_HEADS_H_
