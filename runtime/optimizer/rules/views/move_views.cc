// SPDX-License-Identifier: Apache-2.0

// A view (a Reshape, Transpose, ... of all elements) changes places with a node that works on each
// position alone. It then meets another view that undoes it, or a reader that takes any
// arrangement, and the node stands beside others of the same input, with which it may merge:
//
//   x [B,S,D]                            x [B,S,D]
//       |                                    |
//   Transpose(1,0,2)                      Linear
//       |                      ->            |
//    Linear                              Transpose(1,0,2)
//       |                                    |
//   y [S,B,N]                            y [S,B,N]
//
//   gate [B,N,S,1]     bias [B,N,S,T]           gate       bias
//        |                  |                       \       /
//   Reshape [B*N,S,1]  Reshape [B*N,S,T]    ->         Mul
//               \       /                               |
//                  Mul                           Reshape [B*N,S,T]
//
// Equal views of all parts of a Split become one above it:
//
//            x                                  x
//            |                                  |
//     Split (last axis)                 Reshape or Transpose
//       /    |    \              ->             |
//  Reshape Reshape Reshape               Split (last axis)
//
// A sum, mean or maximum does not depend on the order of elements, and reads them before the view:
//
//   x [B,S,D] -> Transpose [B,D,S] -> ReduceMean [B,D]   ->   ReduceMean(x, axis 1) [B,D]
//
// Each move lowers a cost (ViewsAbove), or, at a Split, leaves fewer views, so that moves come to
// an end. The cost is no number of bytes: a view below a product may move more than it did above,
// until it meets the view that undoes it, or the product is merged with others.

#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/views/moves.h"

namespace attnrun::opt {
namespace {

// Exporters write no longer chains.
constexpr int kMostViews = 48;

bool MoveViews(RuleContext& context, Node* node, Patch& patch) {
  return HoistViews(context, node, patch) || ReduceBehindViews(context, node, patch) ||
         SinkViews(context, node, patch);
}

}  // namespace

int ViewsAbove(const Node& node) {
  int views = 0;
  for (const Value* input : node.inputs()) {
    for (int i = 0; i < kMostViews && input != nullptr && input->producer() != nullptr &&
                    MovesElements(*input->producer());
         ++i) {
      ++views;
      input = input->producer()->input(0);
    }
  }
  return views;
}

bool MayRearrange(const View& base, const View& view) {
  return !(base == view) && base.offset() == view.offset() &&
         Product(base.Dims()) == Product(view.Dims());
}

extern const Rule kMoveViews = {
    .name = "move_views",
    .summary =
        "A node that works on each position alone changes places with a Reshape or Transpose",
    .propose = MoveViews,
    .aliases = {"sink_views", "hoist_views", "joined_operands", "reduced_views"}};

}  // namespace attnrun::opt
