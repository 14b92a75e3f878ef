// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_NORMALIZATION_GROUP_NORMALIZATION_H_
#define ATTNRUN_OPS_NORMALIZATION_GROUP_NORMALIZATION_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// X [batch, channels, ...]: each group of `channels_per_group` neighbouring channels of a sample is
// one row of channels_per_group * spatial elements.
struct GroupNormalizationShape {
  int64_t batch = 0;
  int64_t groups = 0;
  int64_t channels_per_group = 0;
  // Elements of one channel.
  int64_t spatial = 1;
  // Parameter: the index of the scale and bias of channel `channel` of group `group`.
  bool parameters_per_group = false;
  int64_t Parameter(int64_t group, int64_t channel) const {
    return parameters_per_group ? group : group * channels_per_group + channel;
  }
};

// ONNX GroupNormalization-18, -21 and InstanceNormalization-6, -22, whose groups are single
// channels: y = scale * (x - mean) / sqrt(variance + epsilon) + bias over each group. scale and
// bias hold one number per channel; in GroupNormalization-18, one per group.
class GroupNormalization final : public Op {
 public:
  GroupNormalization(AttributeReader& attributes, bool instance);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  absl::StatusOr<GroupNormalizationShape> ResolveShape(const OpContext& context) const;
  float epsilon() const { return epsilon_; }

 private:
  float epsilon_;
  // 0: one group per channel.
  int64_t groups_ = 0;
  bool instance_;
  bool parameters_per_group_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_NORMALIZATION_GROUP_NORMALIZATION_H_
