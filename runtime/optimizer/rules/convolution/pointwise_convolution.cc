// SPDX-License-Identifier: Apache-2.0

// Some models write projections as convolutions of one position. Such a Conv becomes a Linear where
// channels are, or will be, the last axis:
//
//   x [B,L,C]                            x [B,L,C]
//       |                                    |
//   Transpose(0,2,1)                     Transpose(0,2,1)
//       |                                    |
//   Conv(w [M,C,1], b)         ->        Transpose(0,2,1)
//       |                                    |
//   y [B,M,L]                            Linear(w [M,C], b)
//                                            |
//                                        Transpose(0,2,1)
//                                            |
//                                        y [B,M,L]
//
// The first two Transposes cancel. The rule applies likewise if such a Transpose reads y. Where
// channels come first on both sides, the Conv stays.

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/convolution/conv_parts.h"

namespace attnrun::opt {
namespace {

// True if the value [B,C,L] is a view of a tensor whose last axis is the channels.
bool HasChannelsSideBySide(Value* value, Facts& facts) {
  return absl::c_any_of(Trace(value, facts), [](const Traced& traced) {
    const ViewAxis& channels = traced.view.axes()[1];
    return !channels.empty() && channels.back().stride.is_constant(1);
  });
}

bool IsMadeChannelsLast(const Value* value) {
  return absl::c_any_of(value->consumers(),
                        [](const Node* node) { return IsTranspose(node, SwapOfLastTwo(3)); });
}

bool RewritePointwiseConvolutions(RuleContext& context, Node* node, Patch& patch) {
  auto parts = ConvParts::Of(*node, context.facts);
  if (!parts.has_value() || !parts->IsPointwise()) return false;
  if (context.facts.RankOf(parts->x) != 3) return false;
  if (!HasChannelsSideBySide(parts->x, context.facts) && !IsMadeChannelsLast(node->output(0))) {
    return false;
  }
  const AttributeMap swap = {{"perm", SwapOfLastTwo(3)}};
  parts->x = patch.Op("Transpose", {parts->x}, swap);
  Value* y = parts->Write(patch, node->name());
  return patch.Substitute(node, patch.Op("Transpose", {y}, swap));
}

}  // namespace

extern const Rule kPointwiseConvolution = {
    .name = "pointwise_convolution",
    .summary = "A convolution of width 1 over a sequence becomes attnrun.Linear",
    .anchors = {"Conv"},
    .propose = RewritePointwiseConvolutions};

}  // namespace attnrun::opt
