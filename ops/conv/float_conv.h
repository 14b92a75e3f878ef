// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_FLOAT_CONV_H_
#define ATTNRUN_OPS_CONV_FLOAT_CONV_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/conv/tiled_conv.h"
#include "ops/interface/kernel_context.h"
#include "ops/interface/op_context.h"

// The common frame of the kernels of Conv and ConvTranspose: X, W and B? are inputs 0 to 2, of one
// type, float or a half, and are computed on as floats.
namespace attnrun::ops {

// B; null if it is left out.
const Tensor* ConvBias(const OpContext& context);

// True if the inputs are of one such type.
bool HasFloatConvTypes(const OpContext& context);

// W as the model stores it; undefined if it is not constant or of another type.
Tensor ConstantConvWeight(const KernelContext& context);

// The type that the model stores W in; float if it is not constant.
DataType StoredConvType(const KernelContext& context);

// W of a call as floats, which are made when they are first asked for.
class FloatConvWeight {
 public:
  explicit FloatConvWeight(OpContext& context) : context_(context) {}
  absl::StatusOr<const float*> Get();

 private:
  OpContext& context_;
  Tensor floats_;
};

// A tensor of the shape of a typical X. Only its extents may be read, since it has the bytes of W.
absl::StatusOr<Tensor> TypicalConvInput(const Shape& x, const Tensor& w);

// Sets output 0, of shape `output`, to what convolve(operands) writes to operands.y. Does not call
// it for an output without elements. `operands.w` is null, since many weights are packed.
absl::Status RunFloatConv(
    OpContext& context, const Shape& output,
    absl::FunctionRef<absl::Status(const TiledConv::Operands& operands)> convolve);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_FLOAT_CONV_H_
