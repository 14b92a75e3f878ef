// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_CONV_H_
#define ATTNRUN_OPS_CONV_CONV_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/conv/sliding_window.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

struct ConvAttributes {
  WindowAttributes window;
  int64_t group;

  static ConvAttributes Read(AttributeReader& attributes);
};

// The extents of a convolution. C input channels and M output channels are split into `group` equal
// groups; output channel m reads the input channels of its group.
struct ConvShape {
  SlidingWindow window;
  int64_t n;
  int64_t c;
  int64_t m;
  int64_t group;
  // Products of spatial extents.
  int64_t input_size;
  int64_t kernel_size;
  int64_t output_size;
  // [N, M, ..]
  Shape output;

  // Multiplications and additions.
  int64_t flops() const { return 2 * n * m * output_size * (c / group) * kernel_size; }
};

// How the axes of x and y are ordered: [N, C, ..] or [N, .., C].
enum class ImageAxes { kChannelsFirst, kChannelsLast };

// Resolves x, w [M, C/group, ..] and an optional bias [M] (null: none). kInvalidArgument if they do
// not fit each other or the attributes.
absl::StatusOr<ConvShape> ResolveConv(const ConvAttributes& attributes, const Tensor& x,
                                      const Tensor& w, const Tensor* bias,
                                      ImageAxes axes = ImageAxes::kChannelsFirst);

// ONNX Conv-1, -11, -22: the cross-correlation of x [N, C, ..] with a kernel w [M, C/group, ..],
// plus an optional bias [M]:
//
//   y[n, m, p] = bias[m] + sum over c, k of x[n, c, p * stride - pad + k * dilation] * w[m, c, k]
//
// for the channels c of m's group and the kernel's elements k; x is 0 in the padding.
class Conv final : public Op {
 public:
  explicit Conv(AttributeReader& attributes) : attributes_(ConvAttributes::Read(attributes)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  ConvAttributes attributes_;
};

// ONNX ConvInteger-10: Conv of (x - x_zero_point) and (w - w_zero_point), computed in int32. x and
// w are int8 or uint8; x_zero_point is a scalar, w_zero_point a scalar or [M]. Padding counts as
// x_zero_point.
class ConvInteger final : public Op {
 public:
  explicit ConvInteger(AttributeReader& attributes)
      : attributes_(ConvAttributes::Read(attributes)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  ConvAttributes attributes_;
};

// ONNX ConvTranspose-1, -11, -22: the adjoint of Conv. x [N, C, ..], w [C, M/group, ..]; every
// element of x adds itself times the kernel to y, at x's position * stride - pad + k * dilation.
class ConvTranspose final : public Op {
 public:
  explicit ConvTranspose(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // `window.input` and `window.output` swap roles: the window slides over y. `input_size` is x's,
  // `output_size` y's.
  absl::StatusOr<ConvShape> Resolve(const Tensor& x, const Tensor& w, const Tensor* bias) const;

 private:
  // For a window whose `output` is x's extents: sets `input` to y's extents, and the pads.
  absl::Status ResolveOutput(SlidingWindow& window) const;

  ConvAttributes attributes_;
  std::vector<int64_t> output_padding_;
  std::vector<int64_t> output_shape_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_CONV_H_
