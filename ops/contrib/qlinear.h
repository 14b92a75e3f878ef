// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_QLINEAR_H_
#define ATTNRUN_OPS_CONTRIB_QLINEAR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/graph.h"
#include "ops/composite/infer_steps.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"
#include "ops/tensors/channels_last.h"

namespace attnrun::ops {

// A standard operator on 8-bit integers that stand for numbers: every operand is (x - zero_point) *
// scale, the result is round(y / scale) + zero_point, saturated.
struct QLinearForm {
  // Inputs of the node; -1: none. An operand without a scale is used as it is.
  struct Operand {
    int value;
    int scale = -1;
    int zero_point = -1;
  };

  // Reads ONNX Runtime's operators QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu,
  // QLinearSoftmax, QLinearConcat, QLinearWhere, QLinearAveragePool and QLinearGlobalAveragePool.
  static QLinearForm Read(AttributeReader& attributes);

  std::string op_type;
  AttributeMap attributes;
  std::vector<Operand> operands;
  int y_scale = -1;
  int y_zero_point = -1;
  // Channels are the last axis instead of the second.
  bool channels_last = false;
  // Before version 13 a Softmax runs over all axes from this one on.
  std::optional<int64_t> flatten_from;

 private:
  void ReadUnary(AttributeReader& reader);
  void ReadSoftmax(AttributeReader& reader);
};

// Writes such an operator as standard ones: nodes if T is Value*, results if T is Tensor, inferred
// facts if T is OptionalFacts. T() is an input that is left out.
template <typename T>
struct QLinearWriter {
  absl::FunctionRef<T(const std::string&, std::vector<T>, AttributeMap)> op;
  // Input i of the node.
  absl::FunctionRef<T(int)> input;
  // Type and rank of the last operand (the first one of QLinearWhere is its condition).
  DataType type;
  int rank;

  T Write(const QLinearForm& form) const {
    T y = Inner(form, Operands(form));
    if (form.channels_last) y = op("Transpose", {y}, {{"perm", ChannelsLast(rank)}});
    const T zero_point = input(form.y_zero_point);
    AttributeMap attributes;
    if (!Has(zero_point)) attributes["output_dtype"] = static_cast<int64_t>(type);
    return op("QuantizeLinear", {y, input(form.y_scale), zero_point}, attributes);
  }

 private:
  static bool Has(const Tensor& tensor) { return tensor.defined(); }
  static bool Has(const Value* value) { return value != nullptr; }
  static bool Has(const OptionalFacts& facts) { return facts.has_value(); }

  std::vector<T> Operands(const QLinearForm& form) const {
    std::vector<T> operands;
    for (const QLinearForm::Operand& operand : form.operands) {
      T x = input(operand.value);
      if (form.channels_last) x = op("Transpose", {x}, {{"perm", ChannelsFirst(rank)}});
      if (operand.scale >= 0) {
        x = op("DequantizeLinear", {x, input(operand.scale), input(operand.zero_point)}, {});
      }
      operands.push_back(x);
    }
    return operands;
  }

  T Inner(const QLinearForm& form, const std::vector<T>& operands) const {
    if (!form.flatten_from.has_value()) return op(form.op_type, operands, form.attributes);
    const T rows = op("Flatten", operands, {{"axis", *form.flatten_from}});
    const T y = op(form.op_type, {rows}, form.attributes);
    return op("Reshape", {y, op("Shape", operands, {})}, {});
  }
};

// com.microsoft QLinearAdd-1 and the other operators that QLinearForm::Read lists, all version 1.
class QLinear final : public Op {
 public:
  explicit QLinear(AttributeReader& attributes) : form_(QLinearForm::Read(attributes)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  QLinearForm form_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_QLINEAR_H_
