// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/quantized_layers.h"

#include <array>

#include "ops/composite/infer_steps.h"
#include "ops/composite/reference_steps.h"
#include "ops/composite/step_node.h"
#include "ops/contrib/embed_layer_normalization.h"

namespace attnrun::ops {
namespace {

// The quantized inputs of EmbedLayerNormalization, in the order of their scales.
constexpr std::array<int, 5> kQuantized = {
    EmbedLayerNormalization::kWords, EmbedLayerNormalization::kPositions,
    EmbedLayerNormalization::kSegments, EmbedLayerNormalization::kGamma,
    EmbedLayerNormalization::kBeta};
constexpr int kFirstScale = 8;
constexpr int kFirstZeroPoint = 13;

int PlaceOf(int i) {
  int place = 0;
  while (kQuantized[place] != i) ++place;
  return place;
}

}  // namespace

QAttention::QAttention(AttributeReader& attributes)
    : attributes_(
          PassedOn(attributes, {"num_heads", "unidirectional", "mask_filter_value", "scale"})) {
  attributes.Required<int64_t>("num_heads");
  attributes.ExpectInt("do_rotary", 0);
  attributes.ExpectInt("past_present_share_buffer", 0);
}

absl::Status QAttention::Reference(OpContext& context) const {
  ReferenceSteps steps(context);
  const Tensor x = steps.Op("DequantizeLinear",
                            {steps.Input(kX), steps.Input(kXScale), steps.Input(kXZeroPoint)});
  // The weight's scale and zero point run along axis 1, DequantizeLinear's default.
  const Tensor weights =
      steps.Op("DequantizeLinear",
               {steps.Input(kWeights), steps.Input(kWeightScale), steps.Input(kWeightZeroPoint)});
  const int outputs = context.wants_output(1) ? 2 : 1;
  const std::vector<Tensor> results = steps.Ops(
      "com.microsoft::Attention", outputs,
      {x, weights, steps.Input(kBias), steps.Input(kMask), steps.Input(kPast)}, attributes_);
  if (outputs == 2) (void)steps.Give(results[1], 1);
  return steps.Give(results[0]);
}

void QAttention::Infer(InferContext& context) const {
  const InferSteps steps(context);
  std::vector<ValueFacts> outputs =
      InferSteps::Ops("com.microsoft::Attention", 2,
                      {steps.Input(kX), steps.Input(kWeights), steps.Input(kBias),
                       steps.Input(kMask), steps.Input(kPast)},
                      attributes_);
  for (int i = 0; i < 2; ++i) {
    outputs[i].type = context.input(kXScale).type;
    context.SetOutput(i, std::move(outputs[i]));
  }
}

int QEmbedLayerNormalization::ScaleOf(int i) { return kFirstScale + PlaceOf(i); }
int QEmbedLayerNormalization::ZeroPointOf(int i) { return kFirstZeroPoint + PlaceOf(i); }

absl::Status QEmbedLayerNormalization::Reference(OpContext& context) const {
  ReferenceSteps steps(context);
  std::vector<Tensor> inputs;
  for (int i = 0; i <= EmbedLayerNormalization::kMask; ++i) inputs.push_back(steps.Input(i));
  for (const int i : kQuantized) {
    if (!inputs[i].defined()) continue;
    inputs[i] = steps.Op("DequantizeLinear",
                         {inputs[i], steps.Input(ScaleOf(i)), steps.Input(ZeroPointOf(i))});
  }
  const std::vector<Tensor> results =
      steps.Ops("com.microsoft::EmbedLayerNormalization", 2, inputs, {{"epsilon", epsilon_}});
  (void)steps.Give(results[1], 1);
  return steps.Give(results[0]);
}

void QEmbedLayerNormalization::Infer(InferContext& context) const {
  const InferSteps steps(context);
  std::vector<OptionalFacts> inputs;
  for (int i = 0; i <= EmbedLayerNormalization::kMask; ++i) inputs.push_back(steps.Input(i));
  std::vector<ValueFacts> outputs =
      InferSteps::Ops("com.microsoft::EmbedLayerNormalization", 2, inputs);
  outputs[0].type = DataType::kFloat;
  for (int i = 0; i < 2; ++i) context.SetOutput(i, std::move(outputs[i]));
}

absl::Status ContribQuantization::Reference(OpContext& context) const {
  ReferenceSteps steps(context);
  AttributeMap attributes;
  if (axis_.has_value()) attributes["axis"] = *axis_;
  return steps.Give(
      steps.Op(op_type_, {steps.Input(0), steps.Input(1), steps.Input(2)}, attributes));
}

void ContribQuantization::Infer(InferContext& context) const {
  ValueFacts y;
  y.dims = context.input(0).dims;
  if (op_type_ == "DequantizeLinear") {
    y.type = context.input(1).type;
  } else {
    y.type = context.has_input(2) ? context.input(2).type : DataType::kUint8;
  }
  context.SetOutput(0, std::move(y));
}

}  // namespace attnrun::ops
