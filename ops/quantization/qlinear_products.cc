// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/qlinear_products.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/composite/composite.h"
#include "ops/composite/reference_steps.h"
#include "ops/composite/step_node.h"
#include "ops/matmul/matmul.h"
#include "ops/quantization/integer_product.h"
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

// One number, or one for each channel, [M], reshaped so that it broadcasts to [N, M, ..].
Value* PerChannel(Body& body, Value* value, int rank) {
  if (body.IsNumber(value)) return value;
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis + 1 < rank; ++axis) axes.push_back(axis);
  return body.Op("Unsqueeze", {value, body.Ints(axes)});
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

void QLinearMatMul::WriteBody(Body& body) const {
  for (const int i : {kAScale, kAZeroPoint, kYScale, kYZeroPoint}) {
    if (!body.IsNumber(body.input(i))) body.Fail("the rows of a or y have scales of their own");
  }
  for (const int i : {kBScale, kBZeroPoint}) {
    const int rank = body.RankOf(body.input(i));
    if (rank != 0 && rank != 1) body.Fail("the matrices of b have scales of their own");
  }
  Value* y =
      IntegerProduct(body, {"a", body.input(kA), body.input(kAScale), body.input(kAZeroPoint)},
                     {"b", body.input(kB), body.input(kBScale), body.input(kBZeroPoint)});
  Value* scale = body.Cast(body.input(kYScale), DataType::kFloat);
  body.Give(body.Op("QuantizeLinear", {y, scale, body.input(kYZeroPoint)}));
}

QLinearConv::QLinearConv(AttributeReader& attributes)
    : conv_(PassedOn(attributes,
                     {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})),
      channels_last_(!attributes.node().domain().empty() &&
                     attributes.Int("channels_last", 0) != 0) {}

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
  InferThroughBody(context, [this](Body& body) { WriteBody(body); });
}

void QLinearConv::WriteBody(Body& body) const {
  Value* x = body.input(kX);
  const int rank = body.RankOf(x);
  if (rank < 3) return body.Fail("the rank of x is not known");
  for (const int i : {kXScale, kXZeroPoint}) {
    if (!body.IsNumber(body.input(i))) return body.Fail("x has more scales than one");
  }
  for (const int i : {kWScale, kWZeroPoint}) {
    const int own = body.RankOf(body.input(i));
    if (own != 0 && own != 1) return body.Fail("the shape of what belongs to w is not known");
  }
  if (channels_last_) x = body.Op("Transpose", {x}, {{"perm", ChannelsFirst(rank)}});
  Value* sums = body.Op("ConvInteger",
                        {x, body.input(kW), AsScalar(body, body.input(kXZeroPoint)),
                         AsScalar(body, body.input(kWZeroPoint))},
                        conv_);
  if (body.input(kBias) != nullptr) {
    sums = body.Op("Add", {sums, PerChannel(body, body.input(kBias), rank)});
  }
  Value* scale = body.Op("Mul", {body.input(kXScale), body.input(kWScale)});
  sums = body.Cast(sums, DataType::kFloat);
  Value* y = body.Op("Mul", {sums, PerChannel(body, scale, rank)});
  if (channels_last_) y = body.Op("Transpose", {y}, {{"perm", ChannelsLast(rank)}});
  body.Give(body.Op("QuantizeLinear", {y, body.input(kYScale), body.input(kYZeroPoint)}));
}

}  // namespace attnrun::ops
