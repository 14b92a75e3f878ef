// SPDX-License-Identifier: Apache-2.0

// ONNX Runtime's MatMulNBits multiplies by weights that are stored as codes of a few bits. Where
// the codes are constant, it becomes a kind of Linear, which all rules on Linear know, with its
// bias:
//
//   x   codes  scales  zero points           x  codes  b  scales  zero points
//    \    |       |       /                    \    \   |    |       /
//   com.microsoft.MatMulNBits         ->        BlockQuantizedLinear
//             |    b                                     |
//             Add                                        y
//              |
//              y

#include <vector>

#include "ops/interface/registry.h"
#include "ops/linear/nbit_linear.h"
#include "ops/nbit/matmul_nbits.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/linear/linear_bias.h"

namespace attnrun::opt {
namespace {

using B = ops::NBitLinear;

bool IsConstantOrLeftOut(const Value* value) { return value == nullptr || value->is_constant(); }

// True if codes, scales and zero points are constant and fit together.
bool HasConstantWeight(const Node& node) {
  for (const int i : {ops::MatMulNBits::kCodes, ops::MatMulNBits::kScales,
                      ops::MatMulNBits::kZeroPoints, ops::MatMulNBits::kGroups}) {
    if (!IsConstantOrLeftOut(node.input(i))) return false;
  }
  ops::AttributeReader attributes(node, node.opset());
  const ops::MatMulNBits product(attributes);
  const absl::Status fits = product.CheckWeight(
      [&](int i) { return node.input(i) == nullptr ? Tensor() : *node.input(i)->constant(); });
  return attributes.Finish().ok() && fits.ok();
}

bool FuseBlockQuantizedLinear(RuleContext& context, Node* node, Patch& patch) {
  if (!HasConstantWeight(*node)) return false;
  Value* bias = node->input(ops::MatMulNBits::kBias);
  Value* result = node->output(0);
  std::vector<Node*> nodes = {node};
  const int64_t columns = node->input(ops::MatMulNBits::kCodes)->constant()->dim(0);
  Value* added = bias == nullptr ? TakeBiasAdd(context, columns, nodes, result) : nullptr;
  patch.Supersede(nodes);
  std::vector<Value*> inputs(B::kMoreWeights, nullptr);
  inputs[B::kX] = node->input(ops::MatMulNBits::kA);
  inputs[B::kCodes] = node->input(ops::MatMulNBits::kCodes);
  inputs[B::kBias] = bias == nullptr ? FlatBias(patch, added) : bias;
  inputs[B::kScales] = node->input(ops::MatMulNBits::kScales);
  inputs[B::kZeroPoints] = node->input(ops::MatMulNBits::kZeroPoints);
  AttributeMap attributes;
  for (const char* name : {"K", "bits", "block_size"}) {
    if (const AttributeValue* value = node->attribute(name)) attributes[name] = *value;
  }
  patch.Replace(result,
                patch.Op("attnrun::BlockQuantizedLinear", inputs, attributes, node->name()));
  return true;
}

}  // namespace

extern const Rule kBlockQuantizedLinear = {
    .name = "block_quantized_linear",
    .summary = "MatMulNBits and its bias become attnrun.BlockQuantizedLinear",
    .anchors = {"com.microsoft.MatMulNBits"},
    .propose = FuseBlockQuantizedLinear};

}  // namespace attnrun::opt
