// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LOSS_LOSS_H_
#define ATTNRUN_OPS_LOSS_LOSS_H_

#include <optional>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

enum class LossReduction { kNone, kSum, kMean };

// ONNX NegativeLogLikelihoodLoss-12, -13, -22 (y [N, C, ..], target [N, ..] of int32 or int64,
// weight [C]?) and SoftmaxCrossEntropyLoss-12, -13 (scores, labels, weights?) -> loss, y?, where y
// is the logarithm of the softmax of the scores over axis 1: -y[n, target, ..] weight[target], and
// 0 where the target is `ignore_index`. `reduction`: none, [N, ..]; sum; or mean, the sum over the
// sum of the weights (left out: ones) of the targets that are not ignored.
class Loss final : public Op {
 public:
  Loss(AttributeReader& attributes, bool softmax);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;

 private:
  const bool softmax_;
  const std::optional<int64_t> ignored_;
  const LossReduction reduction_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LOSS_LOSS_H_
