// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/convolution/conv_parts.h"

#include "absl/algorithm/container.h"
#include "ops/tensors/float_rows.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rules/linear/linear_parts.h"

namespace attnrun::opt {
namespace {

// True if an attribute is left out or all its elements equal `value`.
bool AllAre(const AttributeMap& attributes, const std::string& name, int64_t value) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return true;
  if (const auto* number = std::get_if<int64_t>(&found->second)) return *number == value;
  const auto* numbers = std::get_if<std::vector<int64_t>>(&found->second);
  return numbers != nullptr && absl::c_all_of(*numbers, [&](int64_t n) { return n == value; });
}

}  // namespace

std::optional<ConvParts> ConvParts::Of(const Node& node, Facts& facts) {
  if (!IsOp(&node, "Conv")) return std::nullopt;
  ConvParts parts = {node.input(0), node.input(1), node.input(2), node.attributes()};
  const Value* weight = parts.weight;
  if (!weight->is_constant() || weight->constant()->num_elements() == 0) return std::nullopt;
  if (weight->constant()->rank() < 3 || facts.RankOf(parts.x) != weight->constant()->rank()) {
    return std::nullopt;
  }
  const DataType type = weight->constant()->type();
  if (!ops::IsFloatOrHalf(type) || facts.TypeOf(parts.x) != type) return std::nullopt;
  if (parts.bias != nullptr && facts.TypeOf(parts.bias) != type) return std::nullopt;
  return parts;
}

// With a kernel of one position and strides of 1, every kind of auto_pad pads nothing.
bool ConvParts::IsPointwise() const {
  const Tensor& w = *weight->constant();
  if (bias != nullptr && !(bias->is_constant() && bias->constant()->rank() == 1)) return false;
  return w.num_elements() == w.dim(0) * w.dim(1) && AllAre(attributes, "group", 1) &&
         AllAre(attributes, "kernel_shape", 1) && AllAre(attributes, "strides", 1) &&
         AllAre(attributes, "pads", 0);
}

Value* ConvParts::Write(Patch& patch, absl::string_view name) const {
  if (!IsPointwise()) {
    std::vector<Value*> inputs = {x, weight};
    if (bias != nullptr) inputs.push_back(bias);
    return patch.Op("attnrun::Conv", std::move(inputs), attributes, name);
  }
  const Tensor& w = *weight->constant();
  Value* matrix = patch.Constant(weight->name(), w.Reshaped({w.dim(0), w.dim(1)}));
  LinearParts linear;
  linear.x = x;
  linear.bias = bias;
  linear.weights = {{{matrix}, true}};
  return linear.Write(patch, name);
}

}  // namespace attnrun::opt
