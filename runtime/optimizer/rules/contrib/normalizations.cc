// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/contrib/expansion.h"

namespace attnrun::opt {
namespace {

bool IsProduct(const Value* value) {
  const Node* node = value->producer();
  return IsOp(node, "MatMul") || IsOp(node, "Gemm");
}

// x + skip + bias. The bias is added to the operand that is a product, so that it can join a
// Linear.
Value* SumOf(Expansion& e, Value* bias) {
  Value* x = e.input(0);
  Value* skip = e.input(1);
  if (bias == nullptr) return e.Op("Add", {x, skip});
  if (IsProduct(skip) && !IsProduct(x)) return e.Op("Add", {x, e.Op("Add", {skip, bias})});
  return e.Op("Add", {e.Op("Add", {x, bias}), skip});
}

bool ExpandSkip(Expansion& e, const std::string& norm, std::vector<Value*> parameters,
                Value* bias) {
  if (e.IsRead(1) || e.IsRead(2)) return e.Decline("its statistics are read");
  Value* sum = SumOf(e, bias);
  parameters.insert(parameters.begin(), sum);
  e.Give(e.Op(norm, parameters, {{"epsilon", e.Attribute("epsilon", 1e-12F)}}));
  return e.output(3) == nullptr || e.Give(sum, 3);
}

}  // namespace

bool ExpandSkipLayerNormalization(Expansion& e) {
  std::vector<Value*> parameters = {e.input(2)};
  if (e.input(3) != nullptr) parameters.push_back(e.input(3));
  return ExpandSkip(e, "LayerNormalization", parameters, e.input(4));
}

bool ExpandSkipSimplifiedLayerNormalization(Expansion& e) {
  return ExpandSkip(e, "RMSNormalization", {e.input(2)}, e.input(3));
}

bool ExpandSimplifiedLayerNormalization(Expansion& e) {
  if (e.IsRead(1)) return e.Decline("its statistics are read");
  AttributeMap attributes = e.node().attributes();
  return e.Give(e.Op("RMSNormalization", e.node().inputs(), std::move(attributes)));
}

}  // namespace attnrun::opt
