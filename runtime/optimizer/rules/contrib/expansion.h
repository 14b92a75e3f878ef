// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CONTRIB_EXPANSION_H_
#define ATTNRUN_OPTIMIZER_RULES_CONTRIB_EXPANSION_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// Wraps one node of ONNX Runtime's own operators while it is rewritten in other operators, with the
// functions to do so:
//
//   bool ExpandBiasGelu(Expansion& e) {
//     return e.Give(e.Op("Gelu", {e.Op("Add", {e.input(0), e.input(1)})}));
//   }
class Expansion {
 public:
  Expansion(RuleContext& context, Node* node, Patch& patch)
      : context_(context), node_(*node), patch_(patch) {
    patch_.Supersede({node});
  }

  const Node& node() const { return node_; }
  Facts& facts() const { return context_.facts; }

  // Null if the node leaves the input out.
  Value* input(int i) const { return node_.input(i); }
  Value* output(int i) const { return node_.output(i); }
  // True if a node or the graph reads output i.
  bool IsRead(int i) const {
    const Value* value = output(i);
    return value != nullptr && (!value->consumers().empty() || context_.graph.IsOutput(value));
  }
  template <typename T>
  T Attribute(absl::string_view name, T otherwise) const {
    return AttributeOr<T>(node_, name, std::move(otherwise));
  }
  // The attribute `scale` of an attention, if it has one.
  std::optional<float> Scale() const {
    const AttributeValue* value = node_.attribute("scale");
    const float* scale = value == nullptr ? nullptr : std::get_if<float>(value);
    return scale == nullptr ? std::nullopt : std::optional(*scale);
  }
  DataType TypeOf(const Value* value) const { return facts().TypeOf(value); }
  // The extents of a value of this rank; null if they are not known or the rank is another.
  const std::vector<SymInt>* Dims(const Value* value, size_t rank) const;

  // The output of a new node, which is named after the node that is expanded.
  Value* Op(const std::string& op_type, std::vector<Value*> inputs, AttributeMap attributes = {}) {
    return patch_.Op(op_type, std::move(inputs), std::move(attributes), node_.name());
  }
  std::vector<Value*> Ops(const std::string& op_type, int outputs, std::vector<Value*> inputs,
                          AttributeMap attributes = {}) {
    return patch_.Ops(op_type, outputs, std::move(inputs), std::move(attributes), node_.name());
  }
  Value* Ints(absl::Span<const int64_t> values) { return patch_.Ints(values); }
  // A constant of one element, of rank 0 or of the shape `dims`, which must be ones.
  Value* Number(DataType type, double value, std::vector<int64_t> dims = {});

  // Extent `axis` of a value, as int64 of rank 0.
  Value* ExtentOf(Value* value, int64_t axis);
  // The integers from 0 up to `count`, exclusive, an integer of rank 0.
  Value* Range(Value* count);
  // The value with new axes of extent 1 at these positions of the result's axes.
  Value* Unsqueeze(Value* value, std::initializer_list<int64_t> axes) {
    return Op("Unsqueeze", {value, Ints(axes)});
  }
  Value* Cast(Value* value, DataType type);

  // Replaces one output; returns true.
  bool Give(Value* replacement, int output = 0) {
    patch_.Replace(node_.output(output), replacement);
    return true;
  }
  // Leaves the node as it is and reports the reason; returns false.
  bool Decline(std::string reason) const {
    context_.Miss(node_, std::move(reason));
    return false;
  }

 private:
  RuleContext& context_;
  Node& node_;
  Patch& patch_;
};

// An 8-bit operand that stands for (value - zero_point) * scale; zero_point may be null.
struct IntegerOperand {
  Value* value;
  Value* scale;
  Value* zero_point;
};

// The product of two such matrices, written as exporters do for ONNX's own operators: int32 sums,
// converted to floats, scaled. Null if the rank of one is not known or below 2, or its scale is not
// known to be float or float16.
Value* IntegerProduct(Expansion& e, const IntegerOperand& a, const IntegerOperand& b);

// Writes the node in other operators; returns false if it must stay as it is.
using Expand = bool (*)(Expansion& expansion);

// True if the rule contrib_operators has an expansion of the operator.
bool IsExpandedContribOperator(absl::string_view domain, absl::string_view op_type);

bool ExpandGelu(Expansion& e);
bool ExpandFastGelu(Expansion& e);
bool ExpandQuickGelu(Expansion& e);
bool ExpandBiasSplitGelu(Expansion& e);
bool ExpandFusedMatMul(Expansion& e);
bool ExpandFusedGemm(Expansion& e);
bool ExpandMatMulIntegerToFloat(Expansion& e);
bool ExpandQLinear(Expansion& e);
bool ExpandQLinearConv(Expansion& e);
bool ExpandQLinearMatMul(Expansion& e);
bool ExpandQGemm(Expansion& e);
bool ExpandQAttention(Expansion& e);
bool ExpandQEmbedLayerNormalization(Expansion& e);
bool ExpandContribQuantization(Expansion& e);
bool ExpandDynamicQuantizeMatMul(Expansion& e);
bool ExpandEmbedLayerNormalization(Expansion& e);
bool ExpandRotaryEmbedding(Expansion& e);
bool ExpandContribAttention(Expansion& e);
bool ExpandMultiHeadAttention(Expansion& e);
bool ExpandGroupQueryAttention(Expansion& e);
bool ExpandSimplifiedLayerNormalization(Expansion& e);
bool ExpandSkipLayerNormalization(Expansion& e);
bool ExpandSkipSimplifiedLayerNormalization(Expansion& e);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CONTRIB_EXPANSION_H_
