// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_NORMALIZATION_BATCH_NORMALIZATION_H_
#define ATTNRUN_OPS_NORMALIZATION_BATCH_NORMALIZATION_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// X [batch, features, spatial], whatever its rank. Each feature has its own scale, bias, mean and
// variance.
struct BatchNormalizationShape {
  int64_t features = 1;
  int64_t spatial = 1;
};

// ONNX BatchNormalization-7, -9, -14, -15: y = (x - mean) / sqrt(variance + epsilon) * scale + B.
// A feature is a channel (axis 1); in version 7 with spatial=0, each element of a sample. With
// training_mode=1 (versions 14 and 15) mean and variance are those of the batch, and outputs 1 and
// 2 are the running ones; the training outputs of the earlier versions are kUnimplemented.
class BatchNormalization final : public Op {
 public:
  explicit BatchNormalization(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  absl::StatusOr<BatchNormalizationShape> ResolveShape(const OpContext& context) const;
  float epsilon() const { return epsilon_; }
  bool training() const { return training_; }

 private:
  float epsilon_;
  float momentum_;
  bool per_channel_ = true;
  bool training_ = false;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_NORMALIZATION_BATCH_NORMALIZATION_H_
