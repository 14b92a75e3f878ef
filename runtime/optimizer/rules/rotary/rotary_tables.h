// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_TABLES_H_
#define ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_TABLES_H_

#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// Which channels of a head form a pair: R/2 apart, or next to each other.
enum class PairLayout { kHalves, kNeighbors };

// A rotation as it was written: x [B,N,S,R], [B,S,N,R] or, of one head, [B,S,R]; tables of the
// cosines and sines that broadcast to it and do not depend on the head.
struct Rotation {
  PairLayout layout = PairLayout::kHalves;
  Value* x = nullptr;
  Value* cos = nullptr;
  Value* sin = nullptr;
  // The tables hold each angle once, [..., R/2], instead of once for each channel of the pair.
  bool one_per_pair = false;
  // By minus the angle.
  bool backwards = false;
};

// True if the last axis of a table holds each angle twice, where the layout has the two channels of
// a pair: proved by walking back to where the angles were repeated.
bool RepeatsAngles(Value* table, PairLayout layout, Facts& facts);

// A RotaryEmbedding in place of the rotation, or null, with the reason in `why`, if the shapes are
// not known to be the operator's. Precondition: RepeatsAngles, unless one_per_pair.
Value* EmitRotaryEmbedding(Patch& patch, Facts& facts, const Rotation& rotation,
                           absl::string_view name, std::string& why);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ROTARY_ROTARY_TABLES_H_
