// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/qlinear_products.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/composite/infer_steps.h"
#include "ops/composite/reference_steps.h"
#include "ops/matmul/matmul.h"
#include "ops/tensors/channels_last.h"

namespace attnrun::ops {
namespace {

// Reshapes numbers per row [M] to a column [M, 1], so that they broadcast to [.., M, N].
Tensor PerRow(ReferenceSteps& steps, const Tensor& numbers) {
  if (numbers.rank() != 1 || numbers.num_elements() == 1) return numbers;
  return steps.Op("Unsqueeze", {numbers, steps.Ints({1})});
}

Tensor InFloat(ReferenceSteps& steps, const Tensor& tensor) {
  return steps.Cast(tensor, DataType::kFloat);
}

// (x - zero_point) * scale.
Tensor Numbers(ReferenceSteps& steps, const Tensor& x, const Tensor& scale,
               const Tensor& zero_point) {
  const Tensor centred = steps.Op("Sub", {InFloat(steps, x), InFloat(steps, zero_point)});
  return steps.Op("Mul", {centred, InFloat(steps, scale)});
}

// kInvalidArgument unless a zero point has the type of its operand.
absl::Status CheckZeroPoint(const OpContext& context, int operand, int zero_point) {
  const Tensor& x = context.input(operand);
  const Tensor& zero = context.input(zero_point);
  if (zero.type() == x.type()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected zero point ", zero_point, " of type ",
                                                 Name(x.type()), ", but it is ",
                                                 TypeAndShape(zero)));
}

}  // namespace

absl::Status QLinearMatMul::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckZeroPoint(context, kA, kAZeroPoint));
  ATTNRUN_RETURN_IF_ERROR(CheckZeroPoint(context, kB, kBZeroPoint));
  ReferenceSteps steps(context);
  const Tensor a = Numbers(steps, steps.Input(kA), PerRow(steps, steps.Input(kAScale)),
                           PerRow(steps, steps.Input(kAZeroPoint)));
  const Tensor b = Numbers(steps, steps.Input(kB), steps.Input(kBScale), steps.Input(kBZeroPoint));
  Tensor y = steps.Op("MatMul", {a, b});
  const Tensor scale = InFloat(steps, steps.Input(kYScale));
  // Axis -2: one number per row of the last matrices.
  return steps.Give(
      steps.Op("QuantizeLinear", {y, scale, steps.Input(kYZeroPoint)}, {{"axis", int64_t{-2}}}));
}

void QLinearMatMul::Infer(InferContext& context) const {
  context.SetOutput(0, {context.input(kYZeroPoint).type,
                        InferMatMul(context.input(kA).dims, context.input(kB).dims), std::nullopt});
}

AttributeMap QLinearConv::ConvAttributesOf(const Node& node) {
  AttributeMap attributes = node.attributes();
  attributes.erase("channels_last");
  return attributes;
}

QLinearConv::QLinearConv(AttributeReader& attributes)
    : conv_(ConvAttributesOf(attributes.node())), channels_last_(false) {
  for (const char* name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}) {
    attributes.Ignore(name);
  }
  if (!attributes.node().domain().empty()) {
    channels_last_ = attributes.Int("channels_last", 0) != 0;
  }
}

absl::Status QLinearConv::Reference(OpContext& context) const {
  ReferenceSteps steps(context);
  const int rank = context.input(kX).rank();
  Tensor x = steps.Op("DequantizeLinear",
                      {steps.Input(kX), steps.Input(kXScale), steps.Input(kXZeroPoint)});
  if (channels_last_) x = steps.Op("Transpose", {x}, {{"perm", ChannelsFirst(rank)}});
  const Tensor w = steps.Op("DequantizeLinear",
                            {steps.Input(kW), steps.Input(kWScale), steps.Input(kWZeroPoint)},
                            {{"axis", int64_t{0}}});
  Tensor bias = steps.Input(kBias);
  if (bias.defined()) {
    const Tensor scale = steps.Op("Mul", {steps.Input(kXScale), steps.Input(kWScale)});
    bias = steps.Op("Mul", {InFloat(steps, bias), scale});
  }
  Tensor y = steps.Op("Conv", {x, w, bias}, conv_);
  if (channels_last_) y = steps.Op("Transpose", {y}, {{"perm", ChannelsLast(rank)}});
  return steps.Give(
      steps.Op("QuantizeLinear", {y, steps.Input(kYScale), steps.Input(kYZeroPoint)}));
}

void QLinearConv::Infer(InferContext& context) const {
  const InferSteps steps(context);
  OptionalFacts y = steps.Input(kX);
  if (!y->dims.has_value() || y->dims->size() < 3) return;
  const auto rank = static_cast<int>(y->dims->size());
  if (channels_last_) y = InferSteps::Op("Transpose", {y}, {{"perm", ChannelsFirst(rank)}});
  y = InferSteps::Op("Conv", {y, steps.Input(kW)}, conv_);
  if (channels_last_) y = InferSteps::Op("Transpose", {y}, {{"perm", ChannelsLast(rank)}});
  y->type = context.input(kYZeroPoint).type;
  context.SetOutput(0, *std::move(y));
}

}  // namespace attnrun::ops
