// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_HEAD_NORMALIZATION_H_
#define ATTNRUN_OPS_ATTENTION_HEAD_NORMALIZATION_H_

#include <memory>

#include "ops/attention/packed_heads.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.HeadRmsNormalization-1, made by the optimizer, with inputs X [batch, sequence, width] and
// scale [heads, head_size], floats of one type: RMSNormalization of each head's columns by itself,
//   y = x / sqrt(mean(x^2) + epsilon) * scale[head],
// which normalizes Q and K within a packed projection. All other columns stay as they are.
// Attributes: head_size, head_offsets (see HeadColumns), epsilon (float, required).
class HeadRmsNormalization final : public Op {
 public:
  explicit HeadRmsNormalization(AttributeReader& attributes)
      : heads_(HeadColumns::Read(attributes)), epsilon_(attributes.Required<float>("epsilon")) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // kInvalidArgument for inputs that do not fit together.
  absl::Status Check(const OpContext& context) const;

  const HeadColumns& heads() const { return heads_; }
  float epsilon() const { return epsilon_; }

 private:
  HeadColumns heads_;
  float epsilon_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_HEAD_NORMALIZATION_H_
