// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/composite/composite.h"
#include "ops/composite/step_node.h"
#include "ops/interface/attribute_reader.h"
#include "ops/tensors/bytes.h"
#include "ops/tensors/channels_last.h"

namespace attnrun::ops::contrib {
namespace {

// A standard operator on 8-bit integers that stand for numbers: every operand is (x - zero_point) *
// scale, the result is round(y / scale) + zero_point, saturated.
struct Form {
  // Inputs of the node; -1: none. An operand without a scale is used as it is.
  struct Operand {
    int value;
    int scale = -1;
    int zero_point = -1;
  };

  std::string op_type;
  AttributeMap attributes = {};
  std::vector<Operand> operands = {};
  int y_scale = -1;
  int y_zero_point = -1;
  // Channels are the last axis instead of the second.
  bool channels_last = false;
  // Before version 13 a Softmax runs over all axes from this one on.
  std::optional<int64_t> flatten_from = {};

  //   A  A_scale  A_zero_point   B  B_scale  B_zero_point           A                   B
  //    \     |          |         |     |       /            DequantizeLinear   DequantizeLinear
  //                  QLinearAdd                        ->                \       /
  //                      |                                                 Add
  //                      C                                                  |
  //                                                                  QuantizeLinear
  //                                                                         |
  //                                                                         C
  void Write(Body& b) const {
    for (const Operand& operand : operands) CheckScale(b, operand.scale);
    CheckScale(b, y_scale);
    std::vector<Value*> inputs;
    for (const Operand& operand : operands) inputs.push_back(Numbers(b, operand));
    if (b.failed()) return;
    const Value* x = b.input(operands.back().value);
    const int rank = b.RankOf(x);
    Value* y = Inner(b, inputs);
    if (channels_last) y = b.Op("Transpose", {y}, {{"perm", ChannelsLast(rank)}});
    Value* zero_point = b.input(y_zero_point);
    AttributeMap quantized;
    if (zero_point == nullptr) quantized["output_dtype"] = static_cast<int64_t>(b.TypeOf(x));
    b.Give(b.Op("QuantizeLinear", {y, b.input(y_scale), zero_point}, quantized));
  }

 private:
  static void CheckScale(Body& b, int i) {
    const Value* scale = i < 0 ? nullptr : b.input(i);
    const DataType type = b.TypeOf(scale);
    if (type == DataType::kFloat || type == DataType::kUndefined) return;
    b.Fail(absl::StrCat("expected the scale, input ", i, ", to be float, but it is ",
                        b.Describe(scale)));
  }

  Value* Numbers(Body& b, const Operand& operand) const {
    Value* x = b.input(operand.value);
    if (x == nullptr) {
      b.Fail(absl::StrCat("input ", operand.value, " is left out"));
      return nullptr;
    }
    const int rank = b.RankOf(x);
    const DataType type = b.TypeOf(x);
    if (channels_last && rank < 2) b.Fail("the rank of its input is not known");
    if (type == DataType::kUndefined) b.Fail("the type of its input is not known");
    if (operand.scale >= 0 && !IsByte(type)) {
      b.Fail(absl::StrCat("expected input ", operand.value, " to be int8 or uint8, but it is ",
                          b.Describe(x)));
    }
    if (b.failed()) return nullptr;
    if (channels_last) x = b.Op("Transpose", {x}, {{"perm", ChannelsFirst(rank)}});
    if (operand.scale < 0) return x;
    return b.Op("DequantizeLinear", {x, b.input(operand.scale), b.input(operand.zero_point)});
  }

  Value* Inner(Body& b, const std::vector<Value*>& inputs) const {
    if (!flatten_from.has_value()) return b.Op(op_type, inputs, attributes);
    Value* rows = b.Op("Flatten", inputs, {{"axis", *flatten_from}});
    Value* y = b.Op(op_type, {rows}, attributes);
    return b.Op("Reshape", {y, b.Op("Shape", inputs)});
  }
};

// Inputs: X, X_scale, X_zero_point, Y_scale, Y_zero_point.
Form UnaryForm(AttributeReader& reader, AttributeMap attributes = {}) {
  const auto name = absl::StripPrefix(reader.node().op_type(), "QLinear");
  return {.op_type = std::string(name),
          .attributes = std::move(attributes),
          .operands = {{0, 1, 2}},
          .y_scale = 3,
          .y_zero_point = 4};
}

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

Composite::Writer WriterOf(Form form) {
  return [form = std::move(form)](Body& b) { form.Write(b); };
}

}  // namespace

// QLinearAdd-1 and QLinearMul-1 (A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale,
// C_zero_point).
Composite::Writer QLinearBinary(AttributeReader& attributes) {
  Form form = UnaryForm(attributes);
  form.operands.push_back({3, 4, 5});
  form.y_scale = 6;
  form.y_zero_point = 7;
  return WriterOf(std::move(form));
}

// QLinearSigmoid-1.
Composite::Writer QLinearUnary(AttributeReader& attributes) {
  return WriterOf(UnaryForm(attributes));
}

// QLinearLeakyRelu-1.
Composite::Writer QLinearLeakyRelu(AttributeReader& attributes) {
  return WriterOf(UnaryForm(attributes, {{"alpha", attributes.Float("alpha", 0.01F)}}));
}

// QLinearAveragePool-1 and QLinearGlobalAveragePool-1.
Composite::Writer QLinearPool(AttributeReader& attributes) {
  const bool global = attributes.node().op_type() == "QLinearGlobalAveragePool";
  Form form = UnaryForm(attributes, global ? AttributeMap() : PoolAttributes(attributes));
  form.channels_last = attributes.Int("channels_last", 0) != 0;
  return WriterOf(std::move(form));
}

// QLinearSoftmax-1, which is the Softmax of version `opset`.
Composite::Writer QLinearSoftmax(AttributeReader& attributes) {
  constexpr int64_t kAlongOneAxis = 13;
  const int64_t axis = attributes.Int("axis", -1);
  const bool flat = attributes.Required<int64_t>("opset") < kAlongOneAxis && axis != -1;
  Form form = UnaryForm(attributes, {{"axis", flat ? -1 : axis}});
  if (flat) form.flatten_from = axis;
  return WriterOf(std::move(form));
}

// QLinearConcat-1 (Y_scale, Y_zero_point, then each operand with its scale and zero point).
Composite::Writer QLinearConcat(AttributeReader& attributes) {
  Form form = {.op_type = "Concat",
               .attributes = {{"axis", attributes.Required<int64_t>("axis")}},
               .y_scale = 0,
               .y_zero_point = 1};
  const auto count = static_cast<int>(attributes.node().inputs().size());
  for (int i = 2; i < count; i += 3) form.operands.push_back({i, i + 1, i + 2});
  return WriterOf(std::move(form));
}

// QLinearWhere-1 (condition, X, X_scale, X_zero_point, Y, Y_scale, Y_zero_point, Z_scale,
// Z_zero_point).
Composite::Writer QLinearWhere(AttributeReader& /*attributes*/) {
  return WriterOf({.op_type = "Where",
                   .operands = {{0}, {1, 2, 3}, {4, 5, 6}},
                   .y_scale = 7,
                   .y_zero_point = 8});
}

// QuantizeLinear-1 and DequantizeLinear-1 (x, scale, zero_point?): the standard operators as they
// were before they took 16-bit and 4-bit integers.
Composite::Writer Quantization(AttributeReader& attributes) {
  return [op_type = attributes.node().op_type(), axis = PassedOn(attributes, {"axis"})](Body& b) {
    b.Give(b.Op(op_type, {b.input(0), b.input(1), b.input(2)}, axis));
  };
}

}  // namespace attnrun::ops::contrib
