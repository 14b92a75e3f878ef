// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_VIEWS_MOVES_H_
#define ATTNRUN_OPTIMIZER_RULES_VIEWS_MOVES_H_

#include "optimizer/rewrite/patch.h"

// The moves of the rule move_views. Each fills the patch and returns true, or returns false.
namespace attnrun::opt {

// Lets a node read its inputs before they were rearranged, and rearranges its result.
bool SinkViews(RuleContext& context, Node* node, Patch& patch);

// Rearranges the input of a Split whose outputs are all rearranged alike.
bool HoistViews(RuleContext& context, Node* split, Patch& patch);

// Lets a reduction take other axes, those of a value that its input is a rearrangement of.
bool ReduceBehindViews(RuleContext& context, Node* node, Patch& patch);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_VIEWS_MOVES_H_
