// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_NORMALIZATION_LAYER_NORMALIZATION_H_
#define ATTNRUN_OPS_NORMALIZATION_LAYER_NORMALIZATION_H_

#include <memory>

#include "ops/composite/body.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The common part of the layer norms. A row consists of the axes from `axis` on:
//   y = (x - mean) / sqrt(variance + epsilon) * scale + bias.
// Those that are not `centered` use 0 as the mean, so that the variance is the mean square.
struct LayerNormalizationSpec {
  bool centered = true;
  // The indices of the outputs for the mean and for 1 / sqrt(variance + epsilon); -1: none.
  int mean_output = -1;
  int inverse_output = -1;
  int64_t axis = -1;
  float epsilon = 1e-5F;
  // The type of those two outputs.
  DataType stash = DataType::kFloat;
};

// Inputs X, scale and optionally bias: X is float of any rank above 0; the others broadcast to it
// and have one type, which is that of Y. All axes before `axis` are rows of `length` elements.
struct LayerNormalizationShape {
  int axis = 0;
  int64_t rows = 1;
  int64_t length = 1;
  // The shape of the statistics: 1 from `axis` on.
  Shape statistics;
};
absl::StatusOr<LayerNormalizationShape> ResolveShape(const LayerNormalizationSpec& spec,
                                                     const OpContext& context);

// ONNX LayerNormalization-17 (X, Scale, B?) -> (Y, Mean?, InvStdDev?) and RMSNormalization-23 (X,
// scale) -> Y.
class LayerNormalization : public Op {
 public:
  // `spec`: with the first three members set.
  LayerNormalization(AttributeReader& attributes, LayerNormalizationSpec spec);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  const LayerNormalizationSpec& spec() const { return spec_; }

 private:
  LayerNormalizationSpec spec_;
};

// SimplifiedLayerNormalization-1 (X, scale) -> (Y, InvStdDev?), which equals RMSNormalization and
// which ONNX Runtime's optimizer puts into ai.onnx.
class SimplifiedLayerNormalization final : public LayerNormalization, public HasBody {
 public:
  explicit SimplifiedLayerNormalization(AttributeReader& attributes)
      : LayerNormalization(attributes, {.centered = false, .inverse_output = 1}) {}

  void WriteBody(Body& body) const override;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_NORMALIZATION_LAYER_NORMALIZATION_H_
