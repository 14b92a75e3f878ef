// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_TABLES_H_
#define ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_TABLES_H_

#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The channels of a head that form a pair: R/2 apart, or next to each other.
enum class PairLayout { kHalves, kNeighbors };

// A rotation as the model wrote it: x is [B,N,S,R], [B,S,N,R] or, with one head, [B,S,R]. The
// tables of cosines and sines broadcast to x and do not depend on the head.
struct Rotation {
  PairLayout layout = PairLayout::kHalves;
  Value* x = nullptr;
  Value* cos = nullptr;
  Value* sin = nullptr;
  // True if the tables hold each angle once, [..., R/2], not once for each channel of a pair.
  bool one_per_pair = false;
  // True if the rotation is by minus the angle.
  bool backwards = false;
};

// True if the last axis of a table holds each angle twice, at the two channels of a pair. Proves it
// by walking back to the node that repeated the angles.
bool RepeatsAngles(Value* table, PairLayout layout, Facts& facts);

// Writes a RotaryEmbedding in place of the rotation. Returns null, with the reason in `why`, if the
// shapes are not known to be those of the operator. Precondition: RepeatsAngles, unless
// one_per_pair.
Value* EmitRotaryEmbedding(Patch& patch, Facts& facts, const Rotation& rotation,
                           absl::string_view name, std::string& why);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_TABLES_H_
