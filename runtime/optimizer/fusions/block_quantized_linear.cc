#include "optimizer/fusions/block_quantized_linear.h"

#include <vector>

#include "ops/block_quantized/matmul_nbits.h"
#include "ops/contrib/contrib.h"
#include "ops/linear/block_quantized_linear.h"
#include "optimizer/each_node.h"
#include "optimizer/fusions/linear_bias.h"
#include "optimizer/node_queries.h"

namespace attnrun {
namespace {

using B = BlockQuantizedLinear;

bool IsConstantOrLeftOut(const Value* value) { return value == nullptr || value->is_constant(); }

// Whether all that says what W is does not change and fits together.
bool HasConstantWeight(const Node& node) {
  for (const int i : {MatMulNBits::kCodes, MatMulNBits::kScales, MatMulNBits::kZeroPoints,
                      MatMulNBits::kGroups}) {
    if (!IsConstantOrLeftOut(node.input(i))) return false;
  }
  AttributeReader attributes(node, node.opset());
  const MatMulNBits product(attributes);
  const absl::Status fits = product.CheckWeight(
      [&](int i) { return node.input(i) == nullptr ? Tensor() : *node.input(i)->constant(); });
  return attributes.Finish().ok() && fits.ok();
}

bool Propose(PassContext& context, Node* node, Patch& patch) {
  if (node->op_type() != "MatMulNBits" || node->domain() != kContribDomain) return false;
  if (!HasConstantWeight(*node)) return false;
  Value* bias = node->input(MatMulNBits::kBias);
  Value* result = node->output(0);
  std::vector<Node*> nodes = {node};
  const int64_t columns = node->input(MatMulNBits::kCodes)->constant()->dim(0);
  Value* added = bias == nullptr ? TakeBiasAdd(context, columns, nodes, result) : nullptr;
  patch.Supersede(nodes);
  std::vector<Value*> inputs(B::kMoreWeights, nullptr);
  inputs[B::kX] = node->input(MatMulNBits::kA);
  inputs[B::kCodes] = node->input(MatMulNBits::kCodes);
  inputs[B::kBias] = bias == nullptr ? FlatBias(patch, added) : bias;
  inputs[B::kScales] = node->input(MatMulNBits::kScales);
  inputs[B::kZeroPoints] = node->input(MatMulNBits::kZeroPoints);
  AttributeMap attributes;
  for (const char* name : {"K", "bits", "block_size"}) {
    if (const AttributeValue* value = node->attribute(name)) attributes[name] = *value;
  }
  patch.Replace(result,
                patch.Op("attnrun::BlockQuantizedLinear", inputs, attributes, node->name()));
  return true;
}

}  // namespace

absl::StatusOr<int> FuseBlockQuantizedLinear(PassContext& context) {
  return RewriteEachNode(context,
                         [&](Node* node, Patch& patch) { return Propose(context, node, patch); });
}

}  // namespace attnrun
