// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_NORMALIZATION_SIMPLE_NORMALIZATION_H_
#define ATTNRUN_OPS_NORMALIZATION_SIMPLE_NORMALIZATION_H_

#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

// Normalizations that are rare in exported transformers: they run on the reference code.
namespace attnrun::ops {

// ONNX LpNormalization-1, -22: y = x / (sum |x|^p)^(1/p) over `axis`, with p 1 or 2; 0 if the norm
// is 0.
class LpNormalization final : public Op {
 public:
  explicit LpNormalization(AttributeReader& attributes)
      : axis_(attributes.Int("axis", -1)), p_(attributes.Int("p", 2)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  int64_t axis_;
  int64_t p_;
};

// ONNX MeanVarianceNormalization-9, -13: y = (x - mean) / (sqrt(variance) + 1e-9) over `axes`.
class MeanVarianceNormalization final : public Op {
 public:
  explicit MeanVarianceNormalization(AttributeReader& attributes)
      : axes_(attributes.Ints("axes", {0, 2, 3})) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  std::vector<int64_t> axes_;
};

// ONNX LRN-1, -13 of X [batch, channels, ...]: y = x / (bias + alpha / size * s)^beta, where s is
// the sum of squares over channels c - floor((size - 1) / 2) to c + ceil((size - 1) / 2).
class Lrn final : public Op {
 public:
  explicit Lrn(AttributeReader& attributes)
      : alpha_(attributes.Float("alpha", 1e-4F)),
        beta_(attributes.Float("beta", 0.75F)),
        bias_(attributes.Float("bias", 1)),
        size_(attributes.Required<int64_t>("size")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  float alpha_;
  float beta_;
  float bias_;
  int64_t size_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_NORMALIZATION_SIMPLE_NORMALIZATION_H_
