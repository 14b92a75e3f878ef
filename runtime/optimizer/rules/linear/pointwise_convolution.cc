// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/linear/pointwise_convolution.h"

#include "absl/algorithm/container.h"
#include "ops/linear/linear.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/each_node.h"

namespace attnrun::opt {
namespace {

// Whether an attribute is left out or has nothing but `value`.
bool AllAre(const Node& node, absl::string_view name, int64_t value) {
  const AttributeValue* attribute = node.attribute(name);
  if (attribute == nullptr) return true;
  if (const auto* number = std::get_if<int64_t>(attribute)) return *number == value;
  const auto* numbers = std::get_if<std::vector<int64_t>>(attribute);
  return numbers != nullptr && absl::c_all_of(*numbers, [&](int64_t n) { return n == value; });
}

// With a kernel of one position and steps of one, every kind of auto_pad pads nothing.
bool IsPointwise(const Node& node) {
  const Value* weight = node.input(1);
  if (!weight->is_constant() || weight->constant()->rank() != 3) return false;
  if (weight->constant()->dim(2) != 1 || !AllAre(node, "group", 1)) return false;
  const Value* bias = node.input(2);
  if (bias != nullptr && !(bias->is_constant() && bias->constant()->rank() == 1)) return false;
  return AllAre(node, "kernel_shape", 1) && AllAre(node, "strides", 1) && AllAre(node, "pads", 0);
}

// Whether the value [B,C,L] is a view of a tensor in which channels lie side by side.
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

bool Propose(PassContext& context, Node* node, Patch& patch) {
  if (node->op_type() != "Conv" || !node->domain().empty() || !IsPointwise(*node)) return false;
  Value* x = node->input(0);
  if (context.facts.RankOf(x) != 3) return false;
  if (!HasChannelsSideBySide(x, context.facts) && !IsMadeChannelsLast(node->output(0))) {
    return false;
  }
  const Value* weight = node->input(1);
  const Tensor& kernel = *weight->constant();
  const AttributeMap swap = {{"perm", SwapOfLastTwo(3)}};
  std::vector<Value*> inputs = {
      patch.Op("Transpose", {x}, swap),
      patch.Constant(weight->name(), kernel.Reshaped({kernel.dim(0), kernel.dim(1)}))};
  if (node->input(2) != nullptr) inputs.push_back(node->input(2));
  Value* y = patch.Op("attnrun::Linear", inputs,
                      {{ops::Linear::kTransposed, std::vector<int64_t>{1}}}, node->name());
  patch.Supersede({node});
  patch.Replace(node->output(0), patch.Op("Transpose", {y}, swap));
  return true;
}

}  // namespace

absl::StatusOr<int> RewritePointwiseConvolutions(PassContext& context) {
  return RewriteEachNode(context,
                         [&](Node* node, Patch& patch) { return Propose(context, node, patch); });
}

}  // namespace attnrun::opt
