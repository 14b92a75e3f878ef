// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CHANNELS_LAST_CONV_H_
#define ATTNRUN_OPS_CONV_CHANNELS_LAST_CONV_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/conv/conv.h"
#include "ops/gemm/activation.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.Conv-1, made by the optimizer: Conv on images whose channels are the last axis, with what
// follows it. For x [N, .., C], w [M, C/group, kernel..], bias [M]? and residual? of the shape of
// y:
//
//   y [N, .., M] = f(conv(x, w) + bias) + residual
//   y [N, .., M] = f(conv(x, w) + bias + residual)   if residual_first is 1
//
// All are of one type of floats. Attributes: those of Conv; activation (string): f, a name of
// kActivations, with activation_alpha and activation_beta (floats) where it has parameters;
// residual_first (int, default 0).
class ChannelsLastConv final : public Op {
 public:
  explicit ChannelsLastConv(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  static constexpr int kX = 0;
  static constexpr int kWeight = 1;
  static constexpr int kBias = 2;
  static constexpr int kResidual = 3;

  static constexpr char kResidualFirst[] = "residual_first";

  // kInvalidArgument for inputs that do not fit together.
  absl::StatusOr<ConvShape> Resolve(const OpContext& context) const;
  // [N, .., M]
  static Shape OutputOf(const ConvShape& shape);

  const ConvAttributes& attributes() const { return attributes_; }
  const Activation& activation() const { return activation_; }
  bool residual_first() const { return residual_first_; }

 private:
  ConvAttributes attributes_;
  Activation activation_;
  bool residual_first_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CHANNELS_LAST_CONV_H_
