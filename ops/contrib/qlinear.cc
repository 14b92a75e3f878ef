// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/qlinear.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/composite/infer_steps.h"
#include "ops/composite/reference_steps.h"
#include "ops/composite/step_node.h"
#include "ops/tensors/bytes.h"

namespace attnrun::ops {
namespace {

// The attributes of AveragePool that QLinearAveragePool has, too.
AttributeMap PoolAttributes(AttributeReader& attributes) {
  AttributeMap window = PassedOn(attributes, {"auto_pad", "ceil_mode", "count_include_pad",
                                              "kernel_shape", "pads", "strides"});
  const auto strides = attributes.Ints("strides");
  const bool counted =
      attributes.Int("count_include_pad", 0) != 0 && attributes.Int("ceil_mode", 0) != 0;
  if (!counted || strides.empty()) return window;
  // With count_include_pad the last windows divide by the whole kernel even if ceil_mode lets them
  // reach beyond the padding. Padding that is stride - 1 wider makes the same windows without
  // ceil_mode.
  auto pads = attributes.Ints("pads", std::vector<int64_t>(2 * strides.size()));
  if (pads.size() != 2 * strides.size()) return window;
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t& end = pads[strides.size() + i];
    // AveragePool reports such strides and pads.
    if (strides[i] < 1 || __builtin_add_overflow(end, strides[i] - 1, &end)) return window;
  }
  window["pads"] = pads;
  window.erase("ceil_mode");
  return window;
}

}  // namespace

// Inputs: X, X_scale, X_zero_point, Y_scale, Y_zero_point.
void QLinearForm::ReadUnary(AttributeReader& reader) {
  operands = {{0, 1, 2}};
  y_scale = 3;
  y_zero_point = 4;
  if (op_type == "LeakyRelu") attributes = {{"alpha", reader.Float("alpha", 0.01F)}};
  if (op_type == "Softmax") ReadSoftmax(reader);
  if (op_type == "AveragePool") attributes = PoolAttributes(reader);
  if (op_type == "AveragePool" || op_type == "GlobalAveragePool") {
    channels_last = reader.Int("channels_last", 0) != 0;
  }
}

void QLinearForm::ReadSoftmax(AttributeReader& reader) {
  constexpr int64_t kAlongOneAxis = 13;
  const int64_t axis = reader.Int("axis", -1);
  attributes = {{"axis", axis}};
  if (reader.Required<int64_t>("opset") >= kAlongOneAxis || axis == -1) return;
  flatten_from = axis;
  attributes = {{"axis", int64_t{-1}}};
}

QLinearForm QLinearForm::Read(AttributeReader& attributes) {
  QLinearForm form;
  form.op_type = std::string(absl::StripPrefix(attributes.node().op_type(), "QLinear"));
  if (form.op_type == "Add" || form.op_type == "Mul") {
    form.operands = {{0, 1, 2}, {3, 4, 5}};
    form.y_scale = 6;
    form.y_zero_point = 7;
  } else if (form.op_type == "Where") {
    form.operands = {{0}, {1, 2, 3}, {4, 5, 6}};
    form.y_scale = 7;
    form.y_zero_point = 8;
  } else if (form.op_type == "Concat") {
    form.y_scale = 0;
    form.y_zero_point = 1;
    form.attributes = {{"axis", attributes.Required<int64_t>("axis")}};
    const auto count = static_cast<int>(attributes.node().inputs().size());
    for (int i = 2; i < count; i += 3) form.operands.push_back({i, i + 1, i + 2});
  } else {
    form.ReadUnary(attributes);
  }
  return form;
}

absl::Status QLinear::Reference(OpContext& context) const {
  ReferenceSteps steps(context);
  for (const QLinearForm::Operand& operand : form_.operands) {
    const Tensor x = steps.Input(operand.value);
    if (!x.defined()) {
      return absl::InvalidArgumentError(absl::StrCat("input ", operand.value, " is left out"));
    }
    if (operand.scale < 0 || IsByte(x.type())) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "expected input ", operand.value, " to be int8 or uint8, but it is ", TypeAndShape(x)));
  }
  const Tensor& x = context.input(form_.operands.back().value);
  const auto op = [&](const std::string& op_type, const std::vector<Tensor>& inputs,
                      AttributeMap attributes) {
    return steps.Op(op_type, inputs, std::move(attributes));
  };
  const auto input = [&](int i) { return i < 0 ? Tensor() : steps.Input(i); };
  return steps.Give(QLinearWriter<Tensor>{op, input, x.type(), x.rank()}.Write(form_));
}

void QLinear::Infer(InferContext& context) const {
  const InferSteps steps(context);
  const OptionalFacts x = steps.Input(form_.operands.back().value);
  const bool known = x.has_value() && x->type != DataType::kUndefined && x->dims.has_value();
  if (!known) return;
  const auto op = [&](const std::string& op_type, const std::vector<OptionalFacts>& inputs,
                      AttributeMap attributes) {
    return InferSteps::Op(op_type, inputs, std::move(attributes));
  };
  const auto input = [&](int i) { return i < 0 ? std::nullopt : steps.Input(i); };
  const auto rank = static_cast<int>(x->dims->size());
  if (form_.channels_last && rank < 2) return;
  context.SetOutput(0, *QLinearWriter<OptionalFacts>{op, input, x->type, rank}.Write(form_));
}

}  // namespace attnrun::ops
