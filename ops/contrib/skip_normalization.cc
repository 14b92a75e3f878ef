// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops::contrib {
namespace {

bool IsProduct(const Value* value) {
  const Node* node = value->producer();
  return node != nullptr && (node->op_type() == "MatMul" || node->op_type() == "Gemm");
}

// x + skip + bias. The bias is added to the operand that is a product, so that it can join a
// Linear.
Value* Sum(Body& b, Value* bias) {
  Value* x = b.input(0);
  Value* skip = b.input(1);
  if (bias == nullptr) return b.Op("Add", {x, skip});
  if (IsProduct(skip) && !IsProduct(x)) return b.Op("Add", {x, b.Op("Add", {skip, bias})});
  return b.Op("Add", {b.Op("Add", {x, bias}), skip});
}

// The output y of the norm. Gives its statistics, if they are wanted.
Value* Normalize(Body& b, bool centered, const std::vector<Value*>& operands,
                 const AttributeMap& attributes) {
  if (centered) {
    const std::vector<Value*> outputs =
        b.Ops("LayerNormalization", b.wants(1) || b.wants(2) ? 3 : 1, operands, attributes);
    for (int i = 1; i < std::ssize(outputs); ++i) b.Give(outputs[i], i);
    return outputs[0];
  }
  if (b.wants(1)) b.Give(b.Op("ReduceMean", {operands[0], b.Ints({-1})}), 1);
  if (!b.wants(2)) return b.Op("RMSNormalization", operands, attributes);
  const std::vector<Value*> outputs =
      b.Ops("SimplifiedLayerNormalization", 2, operands, attributes);
  b.Give(outputs[1], 2);
  return outputs[0];
}

Composite::Writer Skip(AttributeReader& attributes, bool centered) {
  const float epsilon = attributes.Float("epsilon", 1e-12F);
  return [=](Body& b) {
    Value* x = b.input(0);
    Value* beta = centered ? b.input(3) : nullptr;
    Value* bias = b.input(centered ? 4 : 3);
    b.ExpectFloats({x, b.input(1), b.input(2), beta, bias});
    for (Value* row : {b.input(2), beta, bias}) {
      b.Expect("gamma, beta or bias", row, DataType::kUndefined, {b.Dim(x, -1)});
    }
    Value* sum = Sum(b, bias);
    std::vector<Value*> operands = {sum, b.input(2)};
    if (beta != nullptr) operands.push_back(beta);
    b.Give(Normalize(b, centered, operands, {{"epsilon", epsilon}}));
    b.Give(sum, 3);
  };
}

}  // namespace

// SkipLayerNormalization-1 (x, skip, gamma, beta?, bias?) -> (y, mean?, inverse?, sum?), over the
// last axis:
//   sum = x + skip + bias
//   y = (sum - mean(sum)) / sqrt(variance + epsilon) * gamma + beta
// x is [B, S, D] or [S, D]; skip broadcasts to it. mean and inverse (1 / sqrt(...)) have a last
// axis of 1.
Composite::Writer SkipLayerNormalization(AttributeReader& attributes) {
  return Skip(attributes, true);
}

// SkipSimplifiedLayerNormalization-1 (x, skip, gamma, bias?), with the same outputs:
//   y = sum / sqrt(mean(sum^2) + epsilon) * gamma
Composite::Writer SkipSimplifiedLayerNormalization(AttributeReader& attributes) {
  return Skip(attributes, false);
}

}  // namespace attnrun::ops::contrib
