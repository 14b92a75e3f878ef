// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_QUANTIZED_LAYERS_H_
#define ATTNRUN_OPS_CONTRIB_QUANTIZED_LAYERS_H_

#include <optional>
#include <string>

#include "graph/graph.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft QAttention-1 (input, weight, bias, input_scale, weight_scale, mask_index?,
// input_zero_point?, weight_zero_point?, past?) -> (y, present?): Attention (see ContribAttention)
// of (input - input_zero_point) * input_scale and (weight - weight_zero_point) * weight_scale,
// where input and weight are int8 or uint8. The input's scale and zero point are scalars, the
// weight's are scalars or one per column.
class QAttention final : public Op {
 public:
  enum Input {
    kX,
    kWeights,
    kBias,
    kXScale,
    kWeightScale,
    kMask,
    kXZeroPoint,
    kWeightZeroPoint,
    kPast
  };

  explicit QAttention(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  AttributeMap attributes_;
};

// com.microsoft QEmbedLayerNormalization-1: EmbedLayerNormalization whose tables and parameters are
// int8 or uint8, each with a scale and a zero point. Inputs: those of EmbedLayerNormalization up to
// the mask, then the scales of words, positions, segments, gamma and beta, then their zero points.
// Outputs: y and mask_index.
class QEmbedLayerNormalization final : public Op {
 public:
  explicit QEmbedLayerNormalization(AttributeReader& attributes)
      : epsilon_(attributes.Float("epsilon", 1e-12F)) {}

  // The inputs that hold the scale and the zero point of input i of EmbedLayerNormalization.
  static int ScaleOf(int i);
  static int ZeroPointOf(int i);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  float epsilon_;
};

// com.microsoft QuantizeLinear-1 and DequantizeLinear-1: the standard operators as they were before
// they took 16-bit and 4-bit integers.
class ContribQuantization final : public Op {
 public:
  explicit ContribQuantization(AttributeReader& attributes)
      : op_type_(attributes.node().op_type()), axis_(attributes.Get<int64_t>("axis")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  std::string op_type_;
  std::optional<int64_t> axis_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_QUANTIZED_LAYERS_H_
