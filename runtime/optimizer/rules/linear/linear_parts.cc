// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/linear/linear_parts.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "ops/linear/float_linear.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rules/activation/ending.h"

namespace attnrun::opt {
namespace {

using ops::LinearFormat;
using ops::LinearInputs;

constexpr const char* kTransposed = ops::FloatLinear::kTransposed;

constexpr const char* kBlocks[] = {"K", "bits", "block_size"};

void Set(std::vector<Value*>& inputs, int position, Value* value) {
  if (value == nullptr) return;
  if (position >= std::ssize(inputs)) inputs.resize(position + 1, nullptr);
  inputs[position] = value;
}

}  // namespace

LinearParts LinearParts::Of(const Node& node) {
  const auto format = AttributeOr<std::string>(node, ops::kLinearFormat, "");
  const LinearInputs inputs(ops::LinearFormatNamed(format).value_or(LinearFormat::kFloat));
  LinearParts parts = {.format = inputs.format(),
                       .x = node.input(LinearInputs::kX),
                       .bias = node.input(LinearInputs::kBias),
                       .residual = node.input(LinearInputs::kResidual),
                       .ending = EndingAttributes(node)};
  if (inputs.has_x_scale()) {
    parts.x_scale = node.input(LinearInputs::kXScale);
    parts.x_zero_point = node.input(LinearInputs::kXZeroPoint);
  }
  const auto transposed = AttributeOr<std::vector<int64_t>>(node, kTransposed, {});
  for (const auto& weight :
       inputs.Weights(node.inputs().size(), [&](int i) { return node.input(i); })) {
    const size_t index = parts.weights.size();
    const bool listed = index < transposed.size() && transposed[index] != 0;
    parts.weights.push_back({weight, listed || parts.format == LinearFormat::kNBit});
  }
  for (size_t i = 0; i < parts.blocks.size(); ++i) {
    parts.blocks[i] = AttributeOr<int64_t>(node, kBlocks[i], 0);
  }
  return parts;
}

Value* LinearParts::Write(Patch& patch, absl::string_view name) const {
  const LinearInputs positions(format);
  std::vector<Value*> inputs;
  Set(inputs, LinearInputs::kX, x);
  Set(inputs, LinearInputs::kBias, bias);
  Set(inputs, LinearInputs::kResidual, residual);
  Set(inputs, LinearInputs::kXScale, x_scale);
  Set(inputs, LinearInputs::kXZeroPoint, x_zero_point);
  std::vector<int64_t> transposed;
  for (const LinearWeightParts& weight : weights) {
    const ops::LinearWeight<int> at = positions.PositionsOf(static_cast<int>(transposed.size()));
    Set(inputs, at.values, weight.values);
    Set(inputs, at.scales, weight.scales);
    Set(inputs, at.zero_points, weight.zero_points);
    transposed.push_back(weight.transposed ? 1 : 0);
  }
  AttributeMap attributes = ending;
  if (format != LinearFormat::kFloat) {
    attributes[ops::kLinearFormat] = std::string(ops::NameOf(format));
  } else if (absl::c_linear_search(transposed, 1)) {
    attributes[kTransposed] = std::move(transposed);
  }
  for (size_t i = 0; i < blocks.size() && format == LinearFormat::kNBit; ++i) {
    attributes[kBlocks[i]] = blocks[i];
  }
  return patch.Op("attnrun::Linear", std::move(inputs), std::move(attributes), name);
}

int64_t LinearParts::Columns() const {
  int64_t columns = 0;
  for (const LinearWeightParts& weight : weights) columns += weight.Columns();
  return columns;
}

}  // namespace attnrun::opt
