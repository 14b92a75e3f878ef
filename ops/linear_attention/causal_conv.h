// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_ATTENTION_CAUSAL_CONV_H_
#define ATTNRUN_OPS_LINEAR_ATTENTION_CAUSAL_CONV_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

struct CausalConvAttributes {
  bool silu;
  bool channels_last;
  int64_t dilation;
  // As in LinearAttentionAttributes.
  int64_t window;
};

// The extents of one call. Channels that are several axes count as one.
struct CausalConvShape {
  int64_t batch;
  int64_t channels;
  int64_t length;
  int64_t taps;
  // The positions before the first one that its taps reach.
  int64_t reach;
  Shape state;
};

// ONNX CausalConvWithState-27 and com.microsoft.CausalConvWithState-1 (x [B, C, L], weight [C, 1,
// K], bias [C]?, past_state [B, C, K - 1]?) -> y [B, C, L], present_state: each channel's positions
// follow those of its past, or zeros, and
//
//   y[l] = f(bias + sum over j of weight[j] x[l - (K - 1 - j)])
//
// with f of `activation`. present_state is the last K - 1 positions of past and x. com.microsoft's
// operator has a `dilation` D, with taps D apart and (K - 1) D positions of past; `channels_last`,
// with x, y [B, L, ..] and states [B, K - 1, ..], whose further axes are the channels; and
// `state_window` W: states are [W, ..], those after each of the last W positions, zero for those
// before the first one. Not covered: ndim above 1.
class CausalConv final : public Op {
 public:
  explicit CausalConv(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  CausalConvAttributes attributes_;
};

// kInvalidArgument if the inputs do not fit each other or the attributes.
absl::StatusOr<CausalConvShape> ResolveCausalConv(const CausalConvAttributes& attributes,
                                                  const OpContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_ATTENTION_CAUSAL_CONV_H_
