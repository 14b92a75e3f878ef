// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_VIEWS_MOVES_H_
#define ATTNRUN_OPTIMIZER_RULES_VIEWS_MOVES_H_

#include "absl/types/span.h"
#include "optimizer/analysis/view.h"
#include "optimizer/rewrite/patch.h"

// The moves of the rule move_views. Each fills the patch and returns true, or returns false.
namespace attnrun::opt {

// Lets a node read its inputs before they were rearranged, and rearranges its result.
bool SinkViews(RuleContext& context, Node* node, Patch& patch);

// Rearranges the input of a Split whose outputs are all rearranged alike.
bool HoistViews(RuleContext& context, Node* split, Patch& patch);

// Lets a reduction take other axes, those of a value that its input is a rearrangement of.
bool ReduceBehindViews(RuleContext& context, Node* node, Patch& patch);

// The cost of a node that is no view: the views between it and the next such nodes above. A node
// may move only if that lowers it. The views then stand above readers of the node, closer to the
// outputs, so that moves come to an end.
int ViewsAbove(const Node& node);

// The axes of a view before the last `mixed`.
inline absl::Span<const ViewAxis> Leading(const View& view, int mixed) {
  return absl::MakeSpan(view.axes()).subspan(0, view.rank() - mixed);
}

// True if the view may have all elements of the base in another arrangement.
bool MayRearrange(const View& base, const View& view);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_VIEWS_MOVES_H_
