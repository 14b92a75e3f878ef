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
#include "optimizer/rules/linear/linear_parts.h"

namespace attnrun::opt {
namespace {

// True if an attribute is left out or all its elements equal `value`.
bool AllAre(const Node& node, absl::string_view name, int64_t value) {
  const AttributeValue* attribute = node.attribute(name);
  if (attribute == nullptr) return true;
  if (const auto* number = std::get_if<int64_t>(attribute)) return *number == value;
  const auto* numbers = std::get_if<std::vector<int64_t>>(attribute);
  return numbers != nullptr && absl::c_all_of(*numbers, [&](int64_t n) { return n == value; });
}

// True if the Conv reads one position at a time. With a kernel of one position and strides of 1,
// every kind of auto_pad pads nothing.
bool IsPointwise(const Node& node) {
  const Value* weight = node.input(1);
  if (!weight->is_constant() || weight->constant()->rank() != 3) return false;
  if (weight->constant()->dim(2) != 1 || !AllAre(node, "group", 1)) return false;
  const Value* bias = node.input(2);
  if (bias != nullptr && !(bias->is_constant() && bias->constant()->rank() == 1)) return false;
  return AllAre(node, "kernel_shape", 1) && AllAre(node, "strides", 1) && AllAre(node, "pads", 0);
}

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
  if (!IsPointwise(*node)) return false;
  Value* x = node->input(0);
  if (context.facts.RankOf(x) != 3) return false;
  if (!HasChannelsSideBySide(x, context.facts) && !IsMadeChannelsLast(node->output(0))) {
    return false;
  }
  const Value* weight = node->input(1);
  const Tensor& kernel = *weight->constant();
  Value* matrix = patch.Constant(weight->name(), kernel.Reshaped({kernel.dim(0), kernel.dim(1)}));
  const AttributeMap swap = {{"perm", SwapOfLastTwo(3)}};
  LinearParts parts;
  parts.x = patch.Op("Transpose", {x}, swap);
  parts.weights = {{{matrix}, true}};
  parts.bias = node->input(2);
  Value* y = parts.Write(patch, node->name());
  return patch.Substitute(node, patch.Op("Transpose", {y}, swap));
}

}  // namespace

extern const Rule kPointwiseConvolution = {
    .name = "pointwise_convolution",
    .summary = "A convolution of width 1 over a sequence becomes attnrun.Linear",
    .anchors = {"Conv"},
    .propose = RewritePointwiseConvolutions};

}  // namespace attnrun::opt
